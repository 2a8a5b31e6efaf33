"""What a party proves about its ballots in a batch: a part for all cohorts with the same votes and weight.

`sum_parts` has the proof of a sum over records, `noised_parts` that of a ballot with its own noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.verified.layout import Layout, layout_of
from ostraka.common.verified.noised_parts import NoisedPart, parts_with_noise
from ostraka.common.verified.sum_parts import SumPart, sum_parts
from ostraka.common.verified.voters import count_voters
from ostraka.protos.ostraka.v1 import common_pb2

_DOMAIN = b"ostraka/v1/verified-ballots\0"


@dataclass(frozen=True)
class Part:
    """The ballots of some cohorts of a party.

    Attributes:
        cohorts: their positions among the party's cohorts.
        queries: the indices of the queries on which they vote.
        columns: the columns of the ballots on which they do not abstain.
        weight: the weight of each of their votes, in steps of 2^-16 vote.
        unit: the unit of counts, in steps of 2^-16 unweighted vote.
        layout: the proof's layout.
    """

    cohorts: tuple[int, ...]
    queries: NDArray[np.int64] = field(repr=False)
    columns: NDArray[np.int64] = field(repr=False)
    weight: int
    unit: int
    layout: Layout

    def counts(self, ballots: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return ballots of only these cohorts, (Q, width) in unweighted votes, as the layout needs them."""
        rows = self.layout.statement.rows
        cells = self.layout.statement.cells
        counted = ballots[np.ix_(self.queries, self.columns)] * (VOTE // self.unit)
        counts: NDArray[np.int64] = counted.astype(np.int64).reshape(rows, -1)
        if counts.shape[1] == cells:
            return counts
        nowhere = (self.layout.statement.total or 0) - counts.sum(axis=1, keepdims=True)
        return np.hstack([counts, nowhere])

    def ballots(self, counts: RingArray, queries: int, width: int) -> RingArray:
        """Return a share of weighted ballots, (queries, width), from a share of counts, (rows, cells).

        A count weighs its unit times the weight, rounded toward zero to 2^-16 vote.
        """
        shape = len(self.queries), len(self.columns)
        within = counts[:, : shape[0] * shape[1] // len(counts)].reshape(shape)
        total: RingArray = np.zeros((queries, width), dtype=counts.dtype)
        total[np.ix_(self.queries, self.columns)] = self.layout.field.scale(
            within, self.weight * self.unit // VOTE
        )
        return total


AnyPart = Part | NoisedPart | SumPart
"""What is proved: of votes, of votes with noise added to them, or of a sum over records."""


def check_parts(plan: Plan, participant: common_pb2.Participant) -> None:
    """Raise `plan.invalid` if a party's ballots do not fit the plan's field, whichever of its cohorts vote.

    Also raises if its noise does not fit, as in `parts_with_noise`. The cohorts of one weight make at most
    one part together, of the largest batch.
    """
    if plan.mechanism.sums_records:
        sum_parts(plan, participant, np.ones((len(participant.cohorts), 1), dtype=np.bool_))
        return
    everybody = np.ones((len(participant.cohorts), plan.batch_size), dtype=np.bool_)
    if parts_with_noise(plan, participant, everybody):
        return
    alike: dict[int, list[int]] = {}
    for place, cohort in enumerate(participant.cohorts):
        alike.setdefault(cohort.weight, []).append(place)
    columns = len(_columns(plan, participant))
    for places in alike.values() if columns else ():
        _layout(plan, participant, places, plan.batch_size, columns)


def parts_of(
    plan: Plan, participant: common_pb2.Participant, present: NDArray[np.bool_]
) -> tuple[AnyPart, ...]:
    """Return what a party proves if its cohorts participate as `present` says, (cohorts, queries).

    Raises as in `vote_parts`, `parts_with_noise` and `sum_parts`.
    """
    if plan.mechanism.sums_records:
        return sum_parts(plan, participant, present)
    return parts_with_noise(plan, participant, present) or vote_parts(plan, participant, present)


def vote_parts(
    plan: Plan, participant: common_pb2.Participant, present: NDArray[np.bool_]
) -> tuple[Part, ...]:
    """Return what a party proves about its votes if its cohorts vote as `present` says, (cohorts, queries).

    Raises `plan.invalid` if its ballots do not fit the plan's field.
    """
    alike: dict[tuple[int, bytes], list[int]] = {}
    for place, votes in enumerate(present):
        if votes.any():
            alike.setdefault((participant.cohorts[place].weight, votes.tobytes()), []).append(place)
    columns = _columns(plan, participant)
    return tuple(
        Part(
            cohorts=tuple(places),
            queries=np.flatnonzero(present[places[0]]),
            columns=columns,
            weight=weight,
            unit=plan.mechanism.ballot.verifiable.unit,
            layout=_layout(plan, participant, places, int(present[places[0]].sum()), len(columns)),
        )
        for (weight, _), places in alike.items()
    )


def _columns(plan: Plan, participant: common_pb2.Participant) -> NDArray[np.int64]:
    """Return the columns of ballots on which a party does not abstain."""
    silent = set(plan.columns_of(participant.abstains)) if plan.counts_by_label else set()
    width = plan.mechanism.width(plan.classes)
    return np.array([column for column in range(width) if column not in silent], np.int64)


def _layout(
    plan: Plan, participant: common_pb2.Participant, places: Sequence[int], queries: int, columns: int
) -> Layout:
    cohorts = [participant.cohorts[place] for place in places]
    voters = count_voters(plan, cohorts)
    classes = columns if plan.counts_by_label else plan.classes
    statement = plan.mechanism.ballot.claim(queries, classes, voters)
    field = plan.modulus
    assert statement is not None and isinstance(field, PrimeField)  # noqa: S101, PT018 - other plans are refused
    try:
        return layout_of(statement, field)
    except ValueError as exc:
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            f"Ballots of party {participant.site} cannot be verified: {exc}; ask for smaller batches or "
            "fewer labels, or choose ballots unverified.",
        ) from exc


def join_ballots(
    parts: Sequence[AnyPart], counts: Sequence[RingArray], ring: Modulus, shape: tuple[int, int]
) -> RingArray:
    """Return a share of a party's weighted ballots of `shape`, (queries, width), from shares of counts."""
    return ring.sum(part.ballots(share, *shape) for part, share in zip(parts, counts, strict=True))


def context_of(session_id: str, batch_id: int, site: str) -> bytes:
    """Return the bytes that bind a party's verified ballots to one batch of one session."""
    named = [session_id.encode(), str(batch_id).encode(), site.encode()]
    return _DOMAIN + b"".join(len(name).to_bytes(4, "big") + name for name in named)
