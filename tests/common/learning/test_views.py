import pytest
import torch
from torch import Tensor

from ostraka.common.learning.augmentation import (
    WEAK_MASK,
    WEAK_NOISE,
    Augmentation,
    ImageViews,
    Tables,
    augmentation,
)
from ostraka.common.learning.shape import image_axes

SHAPES = [(6,), (16, 16), (3, 12, 10), (12, 10, 3)]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def rows(shape: tuple[int, ...], records: int = 32) -> Tensor:
    return torch.randn(records, torch.Size(shape).numel(), generator=seeded(9))


@pytest.mark.parametrize("shape", SHAPES)
def test_views_have_the_records_shape_and_are_the_seeds(shape: tuple[int, ...]) -> None:
    views, x = augmentation(shape), rows(shape)
    before = x.clone()
    for view in (views.weak, views.strong):
        drawn = view(x, seeded())
        assert drawn.shape == x.shape
        assert torch.equal(drawn, view(x, seeded()))
        assert not torch.equal(drawn, view(x, seeded(1)))
    assert torch.equal(x, before)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_records_have_no_views(shape: tuple[int, ...]) -> None:
    views, none = augmentation(shape), rows(shape, records=0)
    assert views.weak(none, seeded()).shape == views.strong(none, seeded()).shape == none.shape


@pytest.mark.parametrize("shape", SHAPES)
def test_a_strong_view_is_further_from_its_record(shape: tuple[int, ...]) -> None:
    views, x = augmentation(shape), _smooth(shape)

    def distance(view: Tensor) -> float:
        return float((view - x).square().mean())

    assert 0 < distance(views.weak(x, seeded())) < distance(views.strong(x, seeded()))


def _smooth(shape: tuple[int, ...]) -> Tensor:
    """Images of one bright square, or any table."""
    axes = image_axes(shape)
    if axes is None:
        return rows(shape, 256)
    images = torch.zeros(256, axes.channels, axes.height, axes.width)
    images[:, :, 4:-4, 4:-4] = 2
    return (images.movedim(1, -1) if axes.channels_last else images).flatten(1)


def test_where_channels_lie_makes_no_difference() -> None:
    first, last = (ImageViews(axes) for shape in ((3, 12, 10), (12, 10, 3)) if (axes := image_axes(shape)))
    images = torch.randn(8, 3, 12, 10)
    for view, same in ((first.weak, last.weak), (first.strong, last.strong)):
        one = view(images.flatten(1), seeded()).reshape(images.shape)
        other = same(images.movedim(1, -1).flatten(1), seeded()).reshape(8, 12, 10, 3).movedim(-1, 1)
        torch.testing.assert_close(one, other)


def test_an_image_of_one_colour_stays_so_in_weak_views() -> None:
    views: Augmentation = augmentation((16, 16))
    torch.testing.assert_close(views.weak(torch.full((8, 256), 1.5), seeded()), torch.full((8, 256), 1.5))


def test_strong_views_cover_a_part_of_every_image_at_most() -> None:
    covered = augmentation((16, 16)).strong(torch.full((500, 256), 100.0), seeded()) == 0
    shares = covered.float().mean(dim=1)
    assert shares.max() <= 0.3
    assert (shares > 0).float().mean() > 0.5


def test_masked_values_are_of_the_same_column() -> None:
    x = torch.arange(1000.0).repeat(6, 1).T + 10_000 * torch.arange(6)
    weak = Tables().weak(x, seeded())
    changed = (weak - x).abs() > 10 * WEAK_NOISE
    assert torch.equal(((weak + 0.5) / 10_000).floor(), (x / 10_000).floor())
    assert abs(float(changed.float().mean()) - WEAK_MASK) < 0.02
