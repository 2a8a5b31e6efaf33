"""Noise and changes with planted faults, which the audit must find."""

from collections.abc import Iterator
from importlib import import_module
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import AMOUNT_UNIT
from ostraka.guardian.accounting import Tally
from ostraka.guardian.accounting.bounds.vote_terms import CELLS, Term, Whole
from ostraka.guardian.accounting.smooth_noise import VoteTotal
from ostraka.guardian.mechanisms.charge import vote_total
from ostraka.guardian.noise import ExactNoise


class Narrow(ExactNoise):
    """Noise scaled by 0.8: the worst case still holds, so only the exact probabilities reveal it."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().gaussian(0.8 * sigma, shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().laplace(0.8 * scale, shape)


class Halved(ExactNoise):
    """Noise half as wide as what is charged."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().gaussian(sigma / 2, shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return super().laplace(scale / 2, shape)


class Shared(ExactNoise):
    """The same draw on every coordinate of a query (Mühl and Boenisch 2022, Definition 9 as written)."""

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.broadcast_to(super().gaussian(sigma, _a_query(shape)), shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.broadcast_to(super().laplace(scale, _a_query(shape)), shape)


def _a_query(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape with one draw per query: queries are the last axis but one, or the only axis."""
    return shape if len(shape) == 1 else (shape[-2], 1)


def falls_beyond_the_grid(term: Term) -> Whole:
    """Return how far a cost falls within a step to the right of each cell, whatever the result (G,)."""
    count = len(term.costs[0])
    edges = term.reach[0] + term.step * (1 + 1e-6) / CELLS * np.arange(count + CELLS + 1)
    costs = term.rdp(np.asarray(edges, dtype=np.float64)).high / AMOUNT_UNIT
    return (costs[:count] - costs[CELLS + 1 :]).clip(0).astype(np.int64)


def by_whole_steps(term: Term) -> Iterator[Whole]:
    """Yield windows that grow by whole steps, with nothing beyond the grid: some cells are never reached."""
    falls = falls_beyond_the_grid(term)
    largest = falls
    for cells in range(1, CELLS + 1):
        largest = np.maximum(largest, _moved(falls, cells))
    while True:
        yield largest
        beside = np.maximum(_moved(largest, CELLS), _moved(largest, -CELLS))
        largest = np.maximum(largest, beside)


def _moved(values: Whole, cells: int) -> Whole:
    result = np.zeros_like(values)
    if cells >= 0:
        result[cells:] = values[: max(0, len(values) - cells)]
    else:
        result[:cells] = values[-cells:]
    return result


def kept_without_a_certificate(tally: Tally, order: float) -> VoteTotal:
    """Return the stored votes when windows grow by whole steps and are not checked for smoothness."""
    with (
        patch.object(Term, "windows", by_whole_steps),
        patch.object(import_module(vote_total.__module__), "is_certified", lambda *_: True),
    ):
        return vote_total(tally, order, 1.0, 1.0, bytes(16))
