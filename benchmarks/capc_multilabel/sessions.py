"""One session in one process: ballots, release and charge use the code of parties and guardian."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.capc_multilabel.data import DELTA
from benchmarks.capc_multilabel.models import Scores
from ostraka.common.mechanism import Binary, Powerset, Tau
from ostraka.common.privacy import ONE_VOTE, budget_rdp, propose_order
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import decode, encode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms import charges, largest_charges, release
from ostraka.guardian.mechanisms.rule import REFUSED
from ostraka.guardian.noise import LATTICE, NoiseSource

RING = Ring(64)
BLOCK = 25
"""Queries that are charged together; each one is a batch."""
Mechanism = Binary | Tau | Powerset


@dataclass(frozen=True)
class Session:
    """A querying party's answers before a budget ended, and the cost to each record.

    Attributes:
        answers: 0 or 1 for each label of the first queries of the pool, int64 (answered, labels); -1 if a
            label did not pass its check.
        order: Renyi order of the budget.
        spent: rdp of these votes, in both directions.
        worst_case: rdp of as many answers for any votes.
    """

    answers: NDArray[np.int64]
    order: float
    spent: float
    worst_case: float


def session(scores: Scores, mechanism: Mechanism, epsilon: float, noise: NoiseSource) -> Session:
    """Ask for a pool's labels, query by query, until the next one does not fit into `epsilon`.

    Each party has one model, so a record changes one vote and all parties' units pay the same. Budgets
    enforce data-dependent costs by the exact bound; a query is released if its most expensive outcome fits.

    Args:
        scores: of the answering parties' models, (parties, pool, labels).
        mechanism: how votes are released.
        epsilon: budget of each answering party's unit for this session, at DELTA.
        noise: the source of the guardian's noise.
    """
    voters, pool, labels = scores.shape
    order = propose_order(epsilon, DELTA)
    budget = budget_rdp(epsilon, DELTA, order)
    answers = [np.empty((0, labels), dtype=np.int64)]
    spent = worst_case = 0.0
    for start in range(0, pool, BLOCK):
        sums = _sums(scores[:, start : start + BLOCK], mechanism, labels)
        told = _release(sums, mechanism, labels, voters, noise)
        exact, dearest, worst = _costs(sums, told, mechanism, voters, order)
        fits = _fitting(exact, dearest, budget - spent)
        answers.append(told[:fits])
        spent += float(exact[:fits].sum())
        worst_case += float(worst[:fits].sum())
        if fits < len(told):
            break
    return Session(np.concatenate(answers), order, spent, worst_case)


def _sums(scores: Scores, mechanism: Mechanism, labels: int) -> RingArray:
    """Add up the ballots of all parties in the ring, (Q, width)."""
    own = (encode(mechanism.ballot.count(party[None], labels), RING) for party in scores)
    total = next(own)
    for ballot in own:
        total = total + ballot
    return total


def _fitting(exact: NDArray[np.float64], dearest: NDArray[np.float64], room: float) -> int:
    """Return how many queries are released: each must fit, at its maximum cost, after those before."""
    before = np.cumsum(exact) - exact
    return int(np.logical_and.accumulate(before + dearest <= room).sum())


def _release(
    sums: RingArray, mechanism: Mechanism, labels: int, voters: int, noise: NoiseSource
) -> NDArray[np.int64]:
    totals = np.full(len(sums), voters * VOTE)
    return release(sums, mechanism, noise, RING, classes=labels, totals=totals).labels


def _costs(
    sums: RingArray, told: NDArray[np.int64], mechanism: Mechanism, voters: int, order: float
) -> Sequence[NDArray[np.float64]]:
    """Return the rdp (Q,) of each query: for these votes and answers, for any answers, and for any votes."""
    tally = Tally(
        mechanism=mechanism,
        classes=told.shape[1],
        total=np.full(len(sums), float(voters)),
        voters=voters,
        votes=decode(sums, RING),
        answered=told != REFUSED,
    )
    exact = charges(tally, order, "exact", ONE_VOTE, lattice=LATTICE)
    worst = charges(tally, order, "worst_case", ONE_VOTE, lattice=LATTICE)
    if mechanism.noisy_check is None:
        return exact, exact, worst
    return exact, largest_charges(tally, order, "exact", ONE_VOTE, lattice=LATTICE), worst
