"""Public projections: the same at every site, of the width that the task says, of what tells images apart."""

import numpy as np
import pytest

from ostraka.common.datasets import digits
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.learning.projections import is_projection, projection

DIGESTS = {
    "projection:to_6_of_8x8": "ab4e3dbd4b7691857fb90275de2d4ca96cec19c14b8246293b25bd13e1e5459f",
    "projection:to_5_of_9": "97023de3b39387affee8f17d507bb1f42251213d8540707958af5e84829d43a2",
}
"""Of every machine: sites whose digests differ refuse each other."""


def rows(name: str) -> np.ndarray:
    weights: np.ndarray = projection(name).state_dict()["weight"].numpy()
    return weights


@pytest.mark.parametrize("name", DIGESTS)
def test_every_machine_has_the_same_projection(name: str) -> None:
    assert load_encoder(name).sha256.hex() == DIGESTS[name]


@pytest.mark.parametrize(
    ("name", "projects"),
    [
        ("projection:to_64_of_28x28", True),
        ("projection:to_3_of_104", True),
        ("projection:to_3_of_", False),
        ("projection:to__of_3", False),
        ("other.projection:to_3_of_5", False),
    ],
)
def test_names_say_width_and_shape(name: str, projects: bool) -> None:
    assert is_projection(name) is projects
    if projects:
        width, size = name.removeprefix("projection:to_").split("_of_")
        values = int(np.prod([int(side) for side in size.split("x")]))
        assert load_encoder(name).width(values) == int(width)


def test_images_keep_their_lowest_frequencies() -> None:
    """All of them give images back, a quarter of them more of what digits differ in than its share."""
    X = np.asarray(digits().X, np.float64)
    X = X.reshape(len(X), -1) - X.reshape(len(X), -1).mean(axis=0)
    whole, few = rows("projection:to_64_of_8x8"), rows("projection:to_16_of_8x8")
    assert np.abs(X @ whole.T @ whole - X).max() < 1e-3
    assert np.array_equal(few, whole[:16])
    assert (X @ few.T @ few).var() > 1.5 * X.var() / 4


@pytest.mark.parametrize(("shape", "axes"), [("3x8x8", (1, 2)), ("8x8x3", (0, 1))])
def test_channels_are_projected_each_alike(shape: str, axes: tuple[int, int]) -> None:
    """The first three features are the means of the three channels, wherever their axis is."""
    X = np.random.default_rng(0).random(tuple(map(int, shape.split("x"))))
    found = rows(f"projection:to_3_of_{shape}") @ X.ravel()
    assert np.allclose(found, X.mean(axis=axes) * 8, atol=1e-4)


def test_tables_keep_lengths_on_average() -> None:
    basis = rows("projection:to_400_of_50").astype(np.float64)
    assert len(np.unique(np.abs(basis))) == 1
    lengths = np.linalg.norm(np.random.default_rng(0).normal(size=(200, 50)) @ basis.T, axis=1)
    assert abs((lengths**2).mean() / 50 - 1) < 0.1
    assert np.abs(basis.mean(axis=0)).max() * np.sqrt(400) < 0.5
