"""Encoders by name: what they give, when their digests agree, and what is refused."""

import numpy as np
import pytest
import torch
from structlog.testing import capture_logs
from torch import Tensor, nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.common.learning.encoders import MICRO_BATCH, Encoder, load_encoder
from tests.fake_card import FakeCards

HERE = __name__
not_callable = 3


def halves(factor: float = 1.0) -> nn.Module:
    """Every second column of 8, with dropout that evaluation switches off."""
    linear = nn.Linear(8, 4, bias=False)
    with torch.no_grad():
        linear.weight.copy_(torch.eye(8)[::2] * factor)
    return nn.Sequential(nn.Dropout(0.5), linear)


def other_halves() -> nn.Module:
    return halves(2.0)


def means() -> nn.Module:
    """Means over 2 by 2 pixels of images of 8 by 8."""
    return nn.Sequential(nn.Unflatten(1, (1, 8, 8)), nn.AvgPool2d(2), nn.Flatten())


def fails() -> nn.Module:
    raise RuntimeError("secret")


def nothing() -> None:
    return None


def of_batches() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4, track_running_stats=False))


def of_known_statistics() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))


class Flattened(nn.Module):
    def forward(self, X: Tensor) -> Tensor:
        return X.flatten()


class Broken(nn.Module):
    def forward(self, X: Tensor) -> Tensor:
        return X / 0


def records(count: int) -> np.ndarray:
    return np.random.default_rng(0).random((count, 8), np.float32)


def test_records_are_encoded_in_micro_batches_as_the_network_says() -> None:
    X = records(MICRO_BATCH + 3)
    encoder = load_encoder(f"{HERE}:halves")
    assert np.array_equal(encoder.encode(X), X[:, ::2])
    assert encoder.encode(X).dtype == np.float32
    assert encoder.width(8) == 4


def test_digests_agree_where_weights_do() -> None:
    one, again, other = (load_encoder(f"{HERE}:{name}") for name in ("halves", "halves", "other_halves"))
    assert one.sha256 == again.sha256 != other.sha256
    assert one.sha256.hex() == "24f0cbb5ee1004239f3fb4b31eeef7c0d8c065571d27d4390350fbce2d5eb1f0"


def test_no_records_give_no_features() -> None:
    assert load_encoder(f"{HERE}:halves").encode(records(0)).shape == (0, 4)


@pytest.mark.parametrize(
    "name",
    ["no.such.module:build", f"{HERE}:missing", f"{HERE}:not_callable", f"{HERE}:nothing", f"{HERE}:fails"],
)
def test_a_factory_that_gives_no_network_is_refused_and_leaks_nothing(name: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        load_encoder(name)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert name in refused.value.message
    assert "secret" not in refused.value.message


@pytest.mark.parametrize(
    "network", [nn.Linear(9, 2), Flattened(), Broken()], ids=["columns", "shape", "infinite"]
)
def test_a_network_that_gives_no_features_is_refused(network: nn.Module) -> None:
    with pytest.raises(OstrakaError) as refused:
        Encoder("any:encoder", network).encode(records(3))
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_a_network_whose_features_of_a_record_depend_on_others_is_refused() -> None:
    with pytest.raises(OstrakaError, match="statistics of the records") as refused:
        load_encoder(f"{HERE}:of_batches")
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert load_encoder(f"{HERE}:of_known_statistics").width(8) == 4


def test_features_of_a_card_are_those_of_the_cpu_however_little_memory_it_has(cards: FakeCards) -> None:
    device = Device("cuda")
    encoder, there = load_encoder(f"{HERE}:halves"), load_encoder(f"{HERE}:halves", device)
    X = records(300)
    assert there.sha256 == encoder.sha256
    np.testing.assert_array_equal(there.encode(X), encoder.encode(X))
    held = cards.used[0]
    assert held
    cards.memory = held + 300 * 8 * 4
    with capture_logs():
        np.testing.assert_array_equal(there.encode(X), encoder.encode(X))
    assert device.shortages
    assert cards.used[0] == held
