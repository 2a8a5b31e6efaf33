import numpy as np
import pytest
import torch

from ostraka.common.learning.shape import image_axes
from ostraka.services.teachers import TrainingConfig
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.batches import Schedule, TeacherImages, batches, turn

SIDE = 8
CPU = torch.device("cpu")


def pictures(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(0).random(shape).astype(np.float32))


@pytest.mark.parametrize(("degrees", "quarters"), [(0, 0), (90, 1), (-90, 3), (180, 2)])
def test_quarters_turn_every_pixel_counter_clockwise(degrees: float, quarters: int) -> None:
    images = pictures(2, 3, SIDE, SIDE)
    found = turn(images, torch.full((2,), float(degrees)))
    torch.testing.assert_close(found, torch.rot90(images, quarters, (2, 3)), atol=1e-5, rtol=0)


def test_every_image_turns_by_its_own_degrees() -> None:
    images = pictures(1, 1, SIDE, SIDE).repeat(2, 1, 1, 1)
    still, over = turn(images, torch.tensor([0.0, 180.0]))
    torch.testing.assert_close(over, still.flip(1, 2), atol=1e-5, rtol=0)


def test_small_angles_turn_images_that_are_not_square_without_bending_them() -> None:
    """A line through the centre of a wide image stays a line, at the angle asked for."""
    rows = np.repeat(np.arange(-10, 11)[:, None], 41, axis=1)
    line = torch.from_numpy(np.exp(-(rows**2) / 2).astype(np.float32))[None, None]
    lit = turn(line, torch.tensor([10.0]))[0, 0].numpy()
    heights = (lit * rows).sum(axis=0) / lit.sum(axis=0)
    slope = np.polyfit(np.arange(-10, 11), heights[10:31], 1)[0]
    assert -slope == pytest.approx(np.tan(np.deg2rad(10)), abs=0.02)


@pytest.mark.parametrize("shape", [(SIDE, SIDE), (3, SIDE, SIDE), (SIDE, SIDE, 3)])
def test_moves_repeat_the_edge_and_keep_the_records_shape(shape: tuple[int, ...]) -> None:
    X = pictures(2, 4, *shape)
    axes = image_axes(shape)
    assert axes is not None
    rows, moves = torch.tensor([[1], [3]]), torch.tensor([[[1, 1]], [[0, 2]]])
    found = TeacherImages(X, axes, 1).cut(rows, moves, None)
    assert found.shape == (2, 1, *shape)
    for teacher, (row, (down, across)) in enumerate([(1, (1, 1)), (3, (0, 2))]):
        image = channels_first(X[teacher, row], axes.channels_last)
        bordered = np.pad(image, ((0, 0), (1, 1), (1, 1)), mode="edge")
        expected = bordered[:, down : down + SIDE, across : across + SIDE]
        assert np.array_equal(channels_first(found[teacher, 0], axes.channels_last), expected)


def channels_first(image: torch.Tensor, last: bool) -> np.ndarray:
    return (image.movedim(-1, 0) if last else image.reshape(-1, SIDE, SIDE)).numpy()


def test_images_are_turned_only_where_it_is_asked_for_and_within_the_angle() -> None:
    X = pictures(20, SIDE, SIDE).numpy()
    part = Slice(X, np.arange(20) % 2, (0,))
    axes = image_axes((SIDE, SIDE))

    def shown(rotate: float) -> torch.Tensor:
        config = TrainingConfig(teachers=1, shift=0, rotate=rotate, epochs=2)
        schedule = Schedule.of([20], "cnn", axes, config)
        return torch.cat([images[0] for images, _ in batches([part], schedule, axes, CPU)])

    plain, turns = shown(0.0), shown(7.5)
    assert {row.tobytes() for row in plain.numpy()} == {row.tobytes() for row in X}
    assert plain.shape == turns.shape
    assert not torch.isclose(turns, plain).all(dim=(1, 2)).any()
    most = turn(plain[:, None], torch.full((len(plain),), 7.5))[:, 0]
    centre = (slice(None), slice(3, 5), slice(3, 5))
    assert ((turns - plain)[centre].abs().mean()) < ((most - plain)[centre].abs().mean())
