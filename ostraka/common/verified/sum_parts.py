"""What a party proves about its sum over records: a part for each block, for all its cohorts together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RecordSums
from ostraka.common.mechanism.record_sums import Block
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.statement import SIGNED_BASE, Norm, Statement, reach_of_digits
from ostraka.common.verified.layout import Layout, layout_of
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class SumPart:
    """One block of a party's sum.

    Attributes:
        columns: the columns of the sum in the block.
        layout: the proof's layout; counts are values in steps of 2^-16, padded with zeros.
    """

    columns: slice
    layout: Layout

    def counts(self, ballots: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the block of a weighted sum (1, width), in units, as the layout needs it."""
        statement = self.layout.statement
        steps = (ballots[0, self.columns] * VOTE).astype(np.int64)
        return np.pad(steps, (0, statement.size - len(steps))).reshape(statement.rows, statement.cells)

    def ballots(self, counts: RingArray, queries: int, width: int) -> RingArray:
        """Return a share of the sum, (1, width), from a share of counts; 0 outside the block."""
        total: RingArray = np.zeros((queries, width), dtype=counts.dtype)
        block = total[0, self.columns]
        block[:] = counts.ravel()[: len(block)]
        return total


def sum_parts(
    plan: Plan, participant: common_pb2.Participant, scheduled: NDArray[np.bool_]
) -> tuple[SumPart, ...]:
    """Return what a party proves about a sum over its `scheduled` cohorts, (cohorts, 1).

    Raises `plan.invalid` if the sum does not fit the plan's field.
    """
    mechanism = plan.mechanism
    field = plan.modulus
    assert isinstance(mechanism, RecordSums) and isinstance(field, PrimeField)  # noqa: S101, PT018 - such a plan
    cohorts = [cohort for cohort, at in zip(participant.cohorts, scheduled, strict=True) if at.all()]
    parts = []
    start = 0
    for block in mechanism.blocks:
        claim = claim_norm(block.width, largest_norm(block, cohorts), field)
        if claim is None:
            raise OstrakaError(
                ErrorCode.PLAN_INVALID,
                f"The sum of party {participant.site} cannot be verified: {block.width} values over its "
                "records do not fit the field; choose ballots unverified.",
            )
        parts.append(SumPart(slice(start, start + block.width), layout_of(claim, field)))
        start += block.width
    return tuple(parts)


def largest_norm(block: Block, cohorts: Sequence[common_pb2.Cohort]) -> int:
    """Return the largest norm of a block of a party that follows the question, in steps of 2^-16.

    Each record may be a separate chunk, which is rounded; the weighted value of a cohort is rounded as well
    (docs/verified-ballots.md).
    """
    rounded = _root(block.width)
    of_record = math.ceil(block.norm * VOTE) + rounded
    weighed: int = sum(-(-cohort.weight * sum(cohort.records) * of_record // VOTE) for cohort in cohorts)
    return weighed + rounded * len(cohorts)


def claim_norm(values: int, norm: int, field: PrimeField) -> Statement | None:
    """Return the tightest claim of signed values with a norm of at most `norm` whose proof fits a field.

    The values are rounded so far that no sum of squares wraps around; a norm up to norm + (sqrt(values) + 2)
    unit passes. None if even the values do not fit the field.
    """
    places = 1
    while reach_of_digits(places) < norm:
        places += 1
    # Proof and verifier share together are shortest if both have the same length.
    rows = max(1, math.isqrt(values * places // (SIGNED_BASE - 1)))
    cells = -(-values // rows)
    for unit in (SIGNED_BASE**place for place in range(places)):
        # Rounding moves a value by at most half a unit, less a half.
        most = (norm + _root(values) * (unit // 2)) // unit + 1
        bound = Norm(2, most**2, unit, joint=True)
        statement = Statement(rows, cells, reach_of_digits(places), None, bound, signed=True)
        if statement.largest < field.prime:
            return statement
    return None


def _root(number: int) -> int:
    """Return the square root, rounded up."""
    return math.isqrt(number - 1) + 1
