"""What a party proves about a ballot with its own noise: no count is beyond what votes and noise can reach.

Nobody gets a share of votes without their noise. docs/verified-ballots.md explains what is proved, and
docs/accounting-parties.md the cost of cutting off the noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism.mechanism import Draw, Source
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import Statement
from ostraka.common.verified.layout import Layout, layout_of
from ostraka.common.verified.voters import count_voters
from ostraka.protos.ostraka.v1 import common_pb2

DEVIATIONS = 12
"""Deviations at which a draw is cut off; it exceeds them with a probability below 2^-107."""
MOVED_DEVIATIONS = 2
"""Deviations by which a unit may move a count: ten remain then, and cut-off noise reveals no vote."""
_EXACT = 2**53
"""Number of steps up to which float64 is exact."""


@dataclass(frozen=True)
class NoisedPart:
    """The noised ballot of a party on queries for which its votes have the same maximum.

    Attributes:
        queries: their indices.
        layout: the proof's layout; counts are in steps of 2^-16 vote.
    """

    queries: NDArray[np.int64] = field(repr=False)
    layout: Layout

    def counts(self, ballots: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the rows of a weighted ballot with noise, (Q, width) in votes, as the layout needs them."""
        steps: NDArray[np.int64] = (ballots[self.queries] * VOTE).astype(np.int64)
        return steps

    def ballots(self, counts: RingArray, queries: int, width: int) -> RingArray:
        """Return a share of the noised ballot, (queries, width), from one of counts; 0 on other queries."""
        total: RingArray = np.zeros((queries, width), dtype=counts.dtype)
        total[self.queries] = counts
        return total


def parts_with_noise(
    plan: Plan, participant: common_pb2.Participant, present: NDArray[np.bool_]
) -> tuple[NoisedPart, ...]:
    """Return what a party proves if its cohorts vote as `present` says, (cohorts, queries).

    A part contains all queries with the same maximum of votes; all queries have noise. Nothing is returned if
    the guardian draws the noise.

    Raises `plan.invalid` if one record or person moves counts too far compared with the bound, or if votes
    and noise do not fit the plan's field.
    """
    draws = plan.mechanism.party_draws(present.shape[1], plan.classes)
    if not draws:
        return ()
    for draw in draws:
        _check_moved(participant, draw)
    allowed = [count_voters(plan, [cohort]) * cohort.weight for cohort in participant.cohorts]
    largest = np.array(allowed, np.int64) @ present
    alike = {int(votes): np.flatnonzero(largest == votes) for votes in np.unique(largest)}
    return tuple(
        NoisedPart(queries, _layout(plan, participant, draws, len(queries), votes))
        for votes, queries in alike.items()
    )


def draw_bounded(draws: Sequence[Draw], source: Source) -> NDArray[np.float64]:
    """Draw a party's noise, (queries, width) in votes, with each draw cut off at its bound."""
    steps = sum(np.clip(draw.of(source), -find_bound(draw), find_bound(draw)) for draw in draws)
    return np.ldexp(steps, -FRACTION_BITS)


def find_bound(draw: Draw) -> int:
    """Return the bound of a draw, in steps of 2^-16 vote on either side of 0."""
    bound: int = math.ceil(DEVIATIONS * draw.sigma * VOTE)
    return bound


def claim_noised(draws: Sequence[Draw], rows: int, votes: int) -> Statement:
    """Return the claim of counts from up to `votes`, in steps, and noise within its bounds."""
    bound = sum(find_bound(draw) for draw in draws)
    return Statement(rows, draws[0].shape[1], votes + bound, None, lowest=-bound)


def _layout(
    plan: Plan, participant: common_pb2.Participant, draws: Sequence[Draw], rows: int, votes: int
) -> Layout:
    modulus = plan.modulus
    claim = claim_noised(draws, rows, votes)
    assert isinstance(modulus, PrimeField)  # noqa: S101 - other plans prove nothing
    if claim.largest >= min(_EXACT, modulus.prime):
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"Up to {votes / VOTE:g} votes of party {participant.site} for a class, with noise of"
            f" {math.hypot(*(draw.sigma for draw in draws)):g} votes, do not fit a field of {modulus.bits}"
            " bits: ask for less noise, or choose ballots unverified.",
        )
    return layout_of(claim, modulus)


def _check_moved(participant: common_pb2.Participant, draw: Draw) -> None:
    of_person = max(1, participant.max_votes_per_person)
    copies = (cohort.weight * max([1, *cohort.copies]) for cohort in participant.cohorts)
    moved = max(copies, default=0) * of_person / VOTE
    if moved > MOVED_DEVIATIONS * draw.sigma:
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"One record or person of party {participant.site} moves a count by {moved:g} votes, and noise of"
            f" {draw.sigma:.3g} votes of each party that is proved to be bounded hides at most"
            f" {MOVED_DEVIATIONS * draw.sigma:.3g}: ask for more noise, or choose ballots unverified.",
        )
