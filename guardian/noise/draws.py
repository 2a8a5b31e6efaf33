"""The noise that a batch will need, known as soon as its ticket is signed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Ttac,
)
from ostraka.guardian.noise.source import NoiseSource


@dataclass(frozen=True)
class Draw:
    """One call of a noise source: its method, its scale in votes, its shape."""

    kind: Literal["gaussian", "laplace"]
    scale: float
    shape: tuple[int, ...]

    @property
    def values(self) -> int:
        """How many numbers it draws."""
        return math.prod(self.shape)

    def of(self, source: NoiseSource) -> NDArray[np.int64]:
        """Make the call; int64 of `shape`, in lattice steps."""
        if self.kind == "gaussian":
            return source.gaussian(self.scale, self.shape)
        return source.laplace(self.scale, self.shape)


def draws_of(mechanism: Mechanism, rows: int, classes: int) -> list[Draw]:
    """Return the draws that releasing `rows` queries of `classes` classes or labels makes, in their order."""
    match mechanism:
        case GnMax() | NoiseCluster():
            return [Draw("gaussian", mechanism.sigma, (rows, classes))]
        case Confident() | Interactive():
            check = Draw("gaussian", mechanism.sigma1, (rows,))
            return [check, Draw("gaussian", mechanism.sigma2, (rows, classes))]
        case LnMax():
            return [Draw("laplace", mechanism.scale, (rows, classes))]
        case Binary() | Tau() | L1():
            return [
                *_checks(mechanism.check, (rows, classes)),
                Draw("gaussian", mechanism.sigma, (2, rows, classes)),
            ]
        case Powerset():
            sets = mechanism.width(classes)
            return [*_checks(mechanism.check, (rows,)), Draw("gaussian", mechanism.sigma, (rows, sets))]
        case DpTtac():
            return [Draw("gaussian", mechanism.sigma, (rows, mechanism.width(classes)))]
        case RandRes() | Ttac():
            return []


def _checks(check: Check | None, shape: tuple[int, ...]) -> list[Draw]:
    return [] if check is None else [Draw("gaussian", check.sigma, shape)]
