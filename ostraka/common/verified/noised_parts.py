"""What a party proves of the noise in its ballots: a part of its own, so that votes are proved as ever.

What is tallied is the sum of votes and noise. docs/verified-ballots.md says what that proves, and
docs/accounting-parties.md what it costs that noise is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from ostraka.common.verified.writing import balance_digits, reach_of
from ostraka.protos.ostraka.v1 import common_pb2

DEVIATIONS = 12
"""At which a draw is cut off: it lies beyond with a chance below 2^-107."""
MOVED_DEVIATIONS = 2
"""By which a unit moves a count at most: ten are left then, and what is cut off tells of no vote."""
_EXACT = 2**53
"""Steps that float64 counts one by one."""


@dataclass(frozen=True)
class NoisePart:
    """One draw of a party's noise.

    Attributes:
        draw: its law, and its shape (queries, width).
        layout: of the proof: counts are in steps of 2^-16 vote, on either side of 0.
    """

    draw: Draw
    layout: Layout

    def draw_noise(self, source: Source) -> NDArray[np.float64]:
        """Draw the noise within the bound, (queries, width) in votes."""
        most = self.layout.statement.most
        return np.ldexp(np.clip(self.draw.of(source), -most, most), -FRACTION_BITS)

    def counts(self, ballots: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return noise (queries, width) in votes as the layout has it."""
        steps: NDArray[np.int64] = (ballots * VOTE).astype(np.int64)
        return steps

    def ballots(self, counts: RingArray, queries: int, width: int) -> RingArray:
        """Return a share of the noise, (queries, width), which is that of its counts."""
        return counts.reshape(queries, width)


def noise_parts(plan: Plan, participant: common_pb2.Participant, queries: int) -> tuple[NoisePart, ...]:
    """Return what a party proves of its noise on so many queries; nothing where the guardian draws it.

    Raises `plan.invalid` where one record or person moves counts too far beside the bound, or noise does not
    fit the plan's field.
    """
    draws = plan.mechanism.party_draws(queries, plan.classes)
    for draw in draws:
        _check_moved(participant, draw)
    return tuple(NoisePart(draw, _layout(plan, draw)) for draw in draws)


def claim_noise(draw: Draw) -> Statement:
    """Return the claim that every number of a draw (rows, cells) is within `DEVIATIONS`, or a little more.

    Digits that write all these numbers write less than 32 steps more.
    """
    rows, cells = draw.shape
    most = reach_of(balance_digits(math.ceil(DEVIATIONS * draw.sigma * VOTE)))
    return Statement(rows, cells, most, None, signed=True)


def _layout(plan: Plan, draw: Draw) -> Layout:
    field = plan.modulus
    claim = claim_noise(draw)
    assert isinstance(field, PrimeField)  # noqa: S101 - other plans prove nothing
    if claim.most >= _EXACT or claim.largest >= field.prime:
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"Noise of {draw.sigma:g} votes of each party does not fit a field of {field.bits} bits: ask for"
            " less noise, or choose ballots unverified.",
        )
    return layout_of(claim, field)


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
