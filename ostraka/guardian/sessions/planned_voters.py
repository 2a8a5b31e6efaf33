"""Voters planned for each query under a plan's variant, before anybody is left out."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.planning.candidate import fits
from ostraka.common.privacy import Influence
from ostraka.guardian.ledger import Budget, UnitKey
from ostraka.guardian.sessions.cohorts import Attendance, Cohort
from ostraka.guardian.sessions.payers import most_answers, worst_cost
from ostraka.guardian.sessions.weights import is_unlimited, public_balance

MAX_QUERIES = 2**32 - 1
"""The largest number of queries that is distinguished from more."""


def often(plan: Plan, cohorts: Sequence[Cohort], budgets: Mapping[UnitKey, Budget]) -> list[Fraction]:
    """Return how often each cohort votes: on every query or, under vanishing, by its tightest unit's budget.

    A cohort never votes if it abstains from all labels of the plan or has no teachers. The result depends
    only on the plan, the manifests and the public part of budgets.
    """
    if plan.variant != "vanishing":
        return [Fraction(_takes_part(plan, cohort)) for cohort in cohorts]
    taking = [cohort for cohort in cohorts if _takes_part(plan, cohort)]
    found = iter(frequencies([_count_paid(plan, cohort, budgets) for cohort in taking]))
    return [next(found) if _takes_part(plan, cohort) else Fraction(0) for cohort in cohorts]


def plan_voters(
    plan: Plan,
    plan_digest: bytes,
    cohorts: Sequence[Cohort],
    budgets: Mapping[UnitKey, Budget],
    *,
    batch_id: int,
    size: int,
) -> Attendance:
    """Return which parties vote on which query of a batch if no party is left out."""
    if plan.variant != "vanishing":
        taking = np.array([_takes_part(plan, cohort) for cohort in cohorts])
        return Attendance(tuple(cohorts), np.repeat(taking[:, None], size, axis=1))
    present = timetable(often(plan, cohorts, budgets), size, plan_digest, batch_id)
    return Attendance(tuple(cohorts), present)


def check_planned_quorum(plan: Plan, attendance: Attendance) -> None:
    """Raise `quorum.lost` if vanishing leaves a query with too few parties although all are available."""
    _check_quorum(
        plan, attendance, "name more parties, ask for a smaller quorum, or choose a variant without vanishing"
    )


def check_quorum(plan: Plan, attendance: Attendance) -> None:
    """Raise `quorum.lost` if some query of a batch has fewer parties than the quorum."""
    _check_quorum(plan, attendance, "ask again when more of them can")


def _check_quorum(plan: Plan, attendance: Attendance, advice: str) -> None:
    fewest = attendance.fewest_parties()
    if fewest < plan.quorum:
        raise OstrakaError(
            ErrorCode.QUORUM_LOST,
            f"Only {fewest} parties can vote on some query or label of a batch and the quorum is"
            f" {plan.quorum}; {advice}.",
        )


def queries_paid(
    plan: Plan, budget: Budget, influence: Influence, available: int, abstains: Collection[int] = ()
) -> int:
    """Return how many of the plan's queries `available` amounts of a unit pay for, each of them answered.

    The labels that its cohort abstains from cost it nothing. A mechanism whose batch costs the same at any
    size fits as a whole or not at all.
    """
    cost = worst_cost(plan, budget.order, influence, abstains)
    found = fits(cost, most_answers(plan, abstains), available)
    return plan.queries if found is None else min(found, MAX_QUERIES)


def _count_paid(plan: Plan, cohort: Cohort, budgets: Mapping[UnitKey, Budget]) -> int | None:
    """Return how many queries a cohort's tightest unit pays for; None if no unit of it has a limit."""
    return min(
        (
            queries_paid(plan, budgets[key], influence, public_balance(budgets[key]), cohort.abstains)
            for key, influence in cohort.payers(plan.adjacency).items()
            if key in budgets and not is_unlimited(budgets[key])
        ),
        default=None,
    )


def _takes_part(plan: Plan, cohort: Cohort) -> bool:
    """Whether a cohort has a vote on any label of the plan; without teachers it has none."""
    return cohort.voters > 0 and len(cohort.abstains) < plan.classes


_DOMAIN = b"ostraka/v1/vanishing\0"
_RAW_BITS = 64


def frequencies(queries: Sequence[int | None]) -> list[Fraction]:
    """Return how often each cohort votes, by how many `queries` its tightest unit pays for in the worst case.

    None means any number. The cohort that pays for the most votes on every query, and so does one without a
    limit; the others vote in proportion, so that budgets end together. A cohort that pays for none is treated
    as if it paid for one, because the policy decides whether a used-up budget stops a session. If no cohort
    pays for any, all vote, and the budgets refuse the batch.
    """
    most = max((count for count in queries if count is not None), default=0)
    return [Fraction(max(1, count), most) if most and count is not None else Fraction(1) for count in queries]


def timetable(
    often: Sequence[Fraction], queries: int, plan_digest: bytes, batch_id: int
) -> NDArray[np.bool_]:
    """Return which cohorts vote on which queries of a batch, bool (cohorts, queries).

    Cohorts that vote equally often form a deck. A query takes cohorts from the top of each deck, on average
    as many as its frequency says, rounded up or down. The rounding is shifted from deck to deck, so that the
    number of cohorts hardly varies. A used-up deck is shuffled again: cohorts of the same frequency meet
    different ones each time, and none votes a second time before all others of its deck did.

    Args:
        often: how often each cohort votes, 0 to 1.
        queries: size of the batch.
        plan_digest: SHA-256 of the session's plan, which contains the querying party's nonce.
        batch_id: of the batch in its session.

    The randomness is public: NumPy's Philox seeded with SHA-256 of a domain, the plan's digest and the batch
    id (8 bytes, big endian). Its raw 64-bit numbers give a start to the rounding, then an order to each
    shuffled deck. There is no other input, so no record decides who votes (docs/personalized.md).
    """
    seed = hashlib.sha256(_DOMAIN + plan_digest + batch_id.to_bytes(8, "big")).digest()
    random = np.random.Philox(int.from_bytes(seed, "big"))
    start = Fraction(int(random.random_raw()), 2**_RAW_BITS)
    decks: dict[Fraction, list[int]] = defaultdict(list)
    for cohort, frequency in enumerate(often):
        decks[frequency].append(cohort)
    rounded = sorted(f for f, deck in decks.items() if (f * len(deck)).denominator > 1)
    table = np.zeros((len(often), queries), dtype=np.bool_)
    for frequency in sorted(decks):
        cohorts = np.array(decks[frequency])
        phase = start + Fraction(rounded.index(frequency), len(rounded)) if frequency in rounded else start
        deck = _Deck(cohorts, random)
        for query, count in enumerate(_counts(frequency * len(cohorts), phase, queries)):
            table[deck.take(count), query] = True
    return table


def _counts(each: Fraction, phase: Fraction, queries: int) -> list[int]:
    """Return how many cohorts each query takes from a deck that gives `each` on average."""
    shift = int(phase * each.denominator)
    until = [(query * each.numerator + shift) // each.denominator for query in range(queries + 1)]
    return [after - before for before, after in pairwise(until)]


class _Deck:
    """Cohorts of one frequency, shuffled whenever they are used up."""

    def __init__(self, cohorts: NDArray[np.int64], random: np.random.Philox) -> None:
        self._cohorts = cohorts
        self._random = random
        self._rest = cohorts[:0]

    def take(self, count: int) -> NDArray[np.int64]:
        """Take the next `count` cohorts, at most as many as there are, without repetition."""
        taken = self._rest[:count]
        self._rest = self._rest[count:]
        if len(taken) == count:
            return taken
        shuffled = self._cohorts[np.argsort(self._random.random_raw(len(self._cohorts)))]
        again = np.isin(shuffled, taken)
        ordered = np.concatenate([shuffled[~again], shuffled[again]])
        more = count - len(taken)
        self._rest = ordered[more:]
        return np.concatenate([taken, ordered[:more]])
