"""Draws of noise that a release makes, known from its plan alone."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray


class Source(Protocol):
    """What draws noise, in lattice steps of 2^-16 vote."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw Gaussian noise of `sigma` votes."""
        ...

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        """Draw Laplace noise of `scale` votes."""
        ...


@dataclass(frozen=True)
class Draw:
    """One call of a noise source: its method, its scale in votes, its shape."""

    kind: Literal["gaussian", "laplace"]
    scale: float
    shape: tuple[int, ...]

    @classmethod
    def gaussian(cls, sigma: float, *shape: int) -> Self:
        """Return a draw of Gaussian noise of standard deviation `sigma` votes."""
        return cls("gaussian", sigma, shape)

    @classmethod
    def laplace(cls, scale: float, *shape: int) -> Self:
        """Return a draw of Laplace noise of `scale` votes."""
        return cls("laplace", scale, shape)

    @property
    def values(self) -> int:
        """How many numbers it draws."""
        return math.prod(self.shape)

    @property
    def sigma(self) -> float:
        """Standard deviation of each number, in votes."""
        return self.scale if self.kind == "gaussian" else math.sqrt(2) * self.scale

    def of(self, source: Source) -> NDArray[np.int64]:
        """Make the call; int64 of `shape`, in lattice steps."""
        if self.kind == "gaussian":
            return source.gaussian(self.scale, self.shape)
        return source.laplace(self.scale, self.shape)
