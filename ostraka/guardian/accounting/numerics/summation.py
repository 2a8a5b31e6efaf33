"""Sums of products of positive numbers, as plain numbers or as logarithms where they would underflow."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.guardian.accounting.numerics.arguments import Floats

_SPREAD = 36.0
"""Spread plus two shifts up to which products stay above e^(-36^2/2) = e^-648 where they matter; doubles end
at e^-708 (docs/accounting.md, exact, reach)."""
_SHIFT = 8.0
"""Shifts up to which the factors of two moves, each at most e^(shift (36 + 8.2)), do not overflow jointly."""


class Summation(Protocol):
    """How factors are represented (`encode`), multiplied, and summed over the last axis into logarithms."""

    def encode(self, logs: Floats) -> Floats:
        """Return the representation of numbers given by their logarithms."""
        ...

    def times(self, x: Floats, y: Floats) -> Floats:
        """Return products."""
        ...

    def total(self, x: Floats) -> Floats:
        """Return the log of sums over the last axis."""
        ...

    def dot(self, x: Floats, y: Floats) -> Floats:
        """Return the log of sum_z x[q, i, z] y[q, j, z] as (Q, i, j)."""
        ...


def summation(spread: float, shift: float) -> Summation:
    """Return the faster way that keeps the digits; arguments are in units of noise.

    `spread` is how far the likeliest largest draw lies above the lowest count, and `shift` is how far a move
    lowers or raises a count. Products may be as small as exp(-(spread + 2 shift)^2/2) where they still
    matter; doubles end at exp(-708).
    """
    return _Plain() if plain(spread + 2 * shift, shift) else _Logs()


def plain(reach: Floats | float, shift: float) -> NDArray[np.bool_]:
    """Return where plain numbers keep their digits; `reach` is the spread plus two shifts."""
    return np.asarray((np.asarray(reach) <= _SPREAD) & (shift <= _SHIFT))


class _Plain:
    def encode(self, logs: Floats) -> Floats:
        return np.exp(logs)

    def times(self, x: Floats, y: Floats) -> Floats:
        return x * y

    def total(self, x: Floats) -> Floats:
        return np.asarray(np.log(x.sum(axis=-1)))

    def dot(self, x: Floats, y: Floats) -> Floats:
        return np.log(x @ y.swapaxes(1, 2))


class _Logs:
    def encode(self, logs: Floats) -> Floats:
        return logs

    def times(self, x: Floats, y: Floats) -> Floats:
        return x + y

    def total(self, x: Floats) -> Floats:
        top = x.max(axis=-1)
        return np.asarray(top + np.log(np.exp(x - top[..., None]).sum(axis=-1)))

    def dot(self, x: Floats, y: Floats) -> Floats:
        return np.stack([self.total(x + y[:, j, None]) for j in range(y.shape[1])], axis=-1)
