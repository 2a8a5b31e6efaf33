"""MNIST, divided as in Dodwadmath and Stich 2022."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.published import DATA

CLASSES = 10  # MNIST's
SHAPE = (28, 28)
PATH = DATA / "mnist.npz"
"""The file of the images, in ../shared/data beside the checkout."""
PUBLIC = 9000
"""Number of the 10,000 test images that are labelled; the others test students."""


@dataclass(frozen=True)
class Records:
    """Labelled records.

    Attributes:
        X: float32, shape (N, *shape).
        y: class indices, int64, shape (N,).
    """

    X: NDArray[np.float32]
    y: NDArray[np.int64]

    def rows(self, chosen: NDArray[np.int64] | slice) -> "Records":
        """Return the chosen records."""
        return Records(self.X[chosen], self.y[chosen])


@dataclass(frozen=True)
class Split:
    """Teachers learn from private records and label public ones; students are tested on the test records."""

    private: Records
    public: Records
    test: Records


def load() -> Split:
    """Return the images, values in [0, 1], in the file's order."""
    with np.load(PATH) as arrays:
        train, test = (
            Records(
                arrays[f"X_{part}"].astype(np.float32) / np.float32(255), arrays[f"y_{part}"].astype(np.int64)
            )
            for part in ("train", "test")
        )
    return Split(train, test.rows(slice(PUBLIC)), test.rows(slice(PUBLIC, None)))
