"""The divergence of argmaxes over many outcomes with equal counts: label sets, or a hundred classes.

Among sets with the same count a vote can leave one and reach another. A query is therefore described by two
of these sets and the rest of their kind: `Ballots`. A vote may leave a set that shows no vote, as in `exact`.
For an argmax, k classes are the same as k label sets, so time grows with the number of different counts
instead of the classes. docs/accounting-mechanisms.md proves this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.exact.divergence import (
    BLOCK,
    MAX_CLASSES,
    argmax_and_check_exact,
    charges_by_check,
    gnmax_exact,
    neighbours,
)
from ostraka.guardian.accounting.exact.noisy_outcomes import NoisyCheck, Part, argmax_rdp
from ostraka.guardian.accounting.exact.outcome_charges import Charges
from ostraka.guardian.accounting.exact.tied_classes import TiedClasses, draws_error, grid
from ostraka.guardian.accounting.numerics.argmax_outcomes import FARTHEST, Shifts
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.summation import summation

MAX_SETS = 2**256
"""With more label sets, the worst case is charged: the error bounds are proved up to this number."""


@dataclass(frozen=True)
class Ballots:
    """Queries `rows` with the same number of classes: counts (Q, k), and copies (Q, k) of each class."""

    rows: NDArray[np.intp]
    counts: Floats
    copies: Floats


def powerset_exact(
    counts: Floats, sets: int, sigma: float, orders: Floats, influence: Influence, lattice: float
) -> Floats:
    """Return the rdp (Q, R) of Powerset; infinite where nothing is proved."""
    rdp = np.full((len(counts), len(orders)), np.inf)
    for block in _blocks(counts, sets, sigma, influence.sensitivity):
        part = partial(_argmax_part, block, sigma, lattice=lattice)
        rdp[block.rows] = argmax_rdp(part, neighbours(block.counts), orders, influence)
    return rdp


def powerset_and_check_exact(
    counts: Floats,
    sets: int,
    threshold: float,
    sigmas: tuple[float, float],
    orders: Floats,
    influence: Influence,
    lattice: float,
    most: Charges,
) -> Charges:
    """Return the cost of queries by the outcome of a check on the largest count, at most `most`."""
    charges = Charges(most.failed.copy(), most.passed.copy())
    for block in _blocks(counts, sets, sigmas[1], influence.sensitivity):
        check = NoisyCheck(block.counts, threshold, sigmas[0], lattice)
        argmax = partial(_argmax_part, block, sigmas[1], lattice=lattice)
        room = most.of(block.rows)
        tried = neighbours(block.counts)
        charges.put(block.rows, charges_by_check(check, argmax, tried, orders, influence, room))
    return charges


def _argmax_part(ballots: Ballots, sigma: float, moved: float, lattice: float) -> Part:
    """Return the outcomes of Powerset, by class."""
    top = ballots.counts.max(axis=1)
    spread = float(top.max()) / sigma
    shift = moved / sigma
    singles = int(np.where(ballots.counts > 0, ballots.copies, 0.0).sum(axis=1).max()) + 3
    unseen = np.where(ballots.counts == 0, ballots.copies, 0.0).sum(axis=1)
    x = grid(spread, singles, (float(unseen.min()), float(unseen.max())), shift)
    # The most likely value of the largest draw lies below this.
    typical = np.sqrt(2 * np.log(ballots.copies.sum(axis=1)))
    how = summation(spread + float(typical.max()), shift)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        integrals = TiedClasses((top[:, None] - ballots.counts) / sigma, ballots.copies, shift, x, how)
        shifts = Shifts(integrals.log_p, integrals.move_vote())
    return Part(shifts, draws_error(lattice / sigma, top / sigma + 2 * shift + typical))


def _blocks(counts: Floats, sets: int, sigma: float, moved: float) -> Iterator[Ballots]:
    """Yield ballots with a similar spread of counts that fit together into a fixed amount of memory."""
    if sets > MAX_SETS:
        return
    order = np.argsort(counts.max(axis=1), kind="stable")
    waiting: dict[int, list[tuple[int, Floats, Floats]]] = {}
    for row in order.tolist():
        classes, copies = _classes(counts[row], sets)
        if len(classes) > MAX_CLASSES or float(classes[0]) > FARTHEST * sigma:
            continue
        alike = waiting.setdefault(len(classes), [])
        alike.append((row, classes, copies))
        if len(alike) >= _fitting(float(classes[0]), sets, len(classes), sigma, moved):
            yield _stack(waiting.pop(len(classes)))
    for alike in waiting.values():
        yield _stack(alike)


def _fitting(top: float, sets: int, classes: int, sigma: float, moved: float) -> int:
    points = len(grid(top / sigma, classes + 3, (0.0, float(sets)), moved / sigma))
    return max(1, BLOCK // (classes * max(points, classes**2)))


def _stack(alike: list[tuple[int, Floats, Floats]]) -> Ballots:
    rows, classes, copies = zip(*alike, strict=True)
    return Ballots(np.array(rows, dtype=np.intp), np.array(classes), np.array(copies))


def _classes(counts: Floats, sets: int) -> tuple[Floats, Floats]:
    """Return counts from the largest to 0, and how many sets share each.

    The first two of equal counts are single sets, so that a vote can leave one and reach the other; the third
    is all the rest.
    """
    values, times = np.unique(counts[counts > 0], return_counts=True)
    groups = [*zip(values[::-1].tolist(), times[::-1].tolist(), strict=True), (0.0, sets - int(times.sum()))]
    classes = []
    copies = []
    for value, alike in groups:
        kinds = [1.0, 1.0, alike - 2.0][:alike]
        classes += [value] * len(kinds)
        copies += kinds
    return np.array(classes), np.array(copies)


MANY = 16
"""Up to this number of classes equal counts save no time."""


def argmax_exact(votes: Floats, sigma: float, orders: Floats, influence: Influence, lattice: float) -> Floats:
    """Return the rdp (Q, R) of GNMax."""
    rdp = np.empty((len(votes), len(orders)))
    tied = mostly_tied(votes)
    sets = votes.shape[1]
    rdp[tied] = powerset_exact(votes[tied], sets, sigma, orders, influence, lattice)
    rdp[~tied] = gnmax_exact(votes[~tied], sigma, orders, influence, lattice)
    return rdp


def confident_exact(
    check: NoisyCheck, sigma: float, orders: Floats, influence: Influence, most: Charges
) -> Charges:
    """Return charges of Confident by its check's outcome, at most `most`."""
    charges = Charges(most.failed.copy(), most.passed.copy())
    tied = mostly_tied(check.values)
    alike = np.flatnonzero(tied)
    distinct = np.flatnonzero(~tied)
    sets = check.values.shape[1]
    sigmas = (check.sigma, sigma)
    terms = check.threshold, sigmas, orders, influence, check.lattice
    charges.put(alike, powerset_and_check_exact(check.values[alike], sets, *terms, most.of(alike)))
    rest = check.of(distinct)
    limit = most.of(distinct)
    charges.put(
        distinct, argmax_and_check_exact(rest.values, rest, sigma, orders, influence, limit, neighbours)
    )
    return charges


def mostly_tied(votes: Floats) -> NDArray[np.bool_]:
    """Return which queries (Q,) of many classes, some without a vote, have half as many kinds or fewer.

    There are up to three kinds for each count.
    """
    ordered = np.sort(votes, axis=1)
    classes = votes.shape[1]
    kinds = classes - (ordered[:, 3:] == ordered[:, :-3]).sum(axis=1)
    return np.asarray((classes > MANY) & (ordered[:, 0] == 0) & (2 * kinds <= classes), dtype=np.bool_)
