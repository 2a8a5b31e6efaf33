import pytest
import torch
from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.networks import network
from ostraka.common.learning.shape import image_axes, picture_axes


@pytest.mark.parametrize("shape", [(5,), (8, 8), (28, 28), (3, 8, 10), (9, 8, 3), (4, 4)])
def test_flat_rows_become_logits(shape: tuple[int, ...]) -> None:
    net = network(shape, 7).eval()
    rows = torch.randn(6, torch.Size(shape).numel())
    assert net(rows).shape == (6, 7)


def test_images_are_seen_by_convolutions_and_tables_are_not() -> None:
    def has_convolutions(net: nn.Module) -> bool:
        return any(isinstance(part, nn.Conv2d) for part in net.modules())

    assert has_convolutions(network((8, 8), 2))
    assert not has_convolutions(network((64,), 2))
    assert not has_convolutions(network((8, 8), 2, "mlp"))


def test_channels_may_be_last() -> None:
    first, last = network((3, 8, 8), 2).eval(), network((8, 8, 3), 2).eval()
    images = torch.randn(4, 3, 8, 8)
    torch.testing.assert_close(first(images.flatten(1)), last(images.movedim(1, -1).flatten(1)))


def test_first_weights_are_the_seeds_and_leave_other_draws_alone() -> None:
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    one, same, other = (network((5,), 2, seed=seed) for seed in (3, 3, 4))
    assert torch.equal(torch.rand(1), expected)
    weights = [next(net.parameters()) for net in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])


def test_tables_are_no_images() -> None:
    with pytest.raises(OstrakaError) as raised:
        network((64,), 2, "cnn")
    assert raised.value.code is ErrorCode.MODEL_INVALID


def test_small_tensors_are_taken_as_tables() -> None:
    assert image_axes((4, 4)) is not None
    assert picture_axes((4, 4)) is None
    assert picture_axes((7, 9)) is None
    assert picture_axes((8, 9)) == (1, 8, 9, False)
