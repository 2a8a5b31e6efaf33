"""Cohorts: teachers of one party that vote together, on which queries they vote, and who pays."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import JointTraining, Mechanism
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.privacy import Influence
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.ledger import UnitKey
from ostraka.protos.ostraka.v1 import common_pb2

ONE_VOTE_STEPS = 2**FRACTION_BITS
"""Weight of a whole vote, in steps of the ballots' lattice."""


@dataclass(frozen=True)
class Cohort:
    """Teachers of one party that vote on the same queries.

    Attributes:
        site: the party.
        groups: the groups of their training records, each with what one record or person changes in a query.
        voters: number of teachers; the number of records if records vote themselves, or if gradients of
            records are summed.
        weight: of each vote, in steps of 2^-16 vote.
        abstains: labels on which they do not vote, by their index among the plan's labels.
    """

    site: str
    groups: tuple[tuple[str, Influence], ...]
    voters: int
    weight: int
    abstains: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """Weight of all its votes on one query, in steps of 2^-16 vote."""
        return self.voters * self.weight

    def units(self, adjacency: str) -> dict[UnitKey, Influence]:
        """Return what each of its units under `adjacency` changes in one query."""
        return {UnitKey(self.site, group, adjacency): influence for group, influence in self.groups}

    def payers(self, adjacency: str) -> dict[UnitKey, Influence]:
        """Return the units that its votes are charged to: a record's charge also debits its label budget."""
        if adjacency == "label":
            return self.units("label")
        return self.units("record") | self.units("label")


def cohort_messages(manifest: common_pb2.Manifest, mechanism: Mechanism) -> list[common_pb2.Cohort]:
    """Return the cohorts of a party's manifest with votes of weight one; mixed teachers are one cohort.

    Sums over records are separate for each group, whichever teachers had them, and use no teacher.
    """
    if mechanism.sums_records:
        return [_message([group], 0, mechanism) for group in manifest.groups]
    if manifest.mixed:
        return [_message(manifest.groups, manifest.groups[0].teachers, mechanism)]
    return [_message([group], group.teachers, mechanism) for group in manifest.groups]


def cohorts_of(
    participant: common_pb2.Participant,
    manifest: common_pb2.Manifest,
    mechanism: Mechanism,
    abstains: tuple[int, ...] = (),
) -> tuple[Cohort, ...]:
    """Return a participant's cohorts in its message's order; they do not vote on labels it `abstains` from.

    A record's influence is its copies times the votes per person. Records that vote themselves count once.
    """
    groups = {group.name: group for group in manifest.groups}

    def influence(name: str, weight: int) -> tuple[str, Influence]:
        copies = 1 if mechanism.by_record else max(1, groups[name].copies)
        return name, Influence(copies * participant.max_votes_per_person, weight / ONE_VOTE_STEPS)

    return tuple(
        Cohort(
            site=participant.site,
            groups=tuple(influence(name, cohort.weight) for name in cohort.groups),
            voters=_voters(cohort, groups, mechanism),
            weight=cohort.weight,
            abstains=abstains,
        )
        for cohort in participant.cohorts
    )


def _voters(cohort: common_pb2.Cohort, groups: Mapping[str, common_pb2.Group], mechanism: Mechanism) -> int:
    named = [groups[name] for name in cohort.groups]
    if mechanism.by_record:
        return sum(_records(group, mechanism) for group in named)
    by_gradient = isinstance(mechanism, JointTraining) and mechanism.gradient_radius is not None
    if by_gradient and cohort.teachers:
        return sum(group.records * max(1, group.copies) for group in named)
    return cohort.teachers


def _records(group: common_pb2.Group, mechanism: Mechanism) -> int:
    """Return how many of its records count: a party may sum over only some records of each person."""
    return group.summed_records or group.records if mechanism.sums_records else group.records


def _message(groups: Iterable[common_pb2.Group], teachers: int, mechanism: Mechanism) -> common_pb2.Cohort:
    cohort = common_pb2.Cohort(teachers=teachers, weight=ONE_VOTE_STEPS)
    for group in groups:
        cohort.groups.append(group.name)
        cohort.copies.append(max(1, group.copies))
        cohort.records.append(_records(group, mechanism))
    return cohort


@dataclass(frozen=True)
class Attendance:
    """Cohorts in the order of their participants, and the queries each votes on, bool (cohorts, Q)."""

    cohorts: tuple[Cohort, ...]
    present: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of_ticket(cls, ticket: common_pb2.Ticket, cohorts: Iterable[Cohort]) -> Attendance:
        """Return a ticket's attendance for the `cohorts` whose parties it names, in its order."""
        by_site: dict[str, list[Cohort]] = defaultdict(list)
        for cohort in cohorts:
            by_site[cohort.site].append(cohort)
        chosen = [cohort for schedule in ticket.schedule for cohort in by_site[schedule.participant.site]]
        return cls(tuple(chosen), np.concatenate([read_schedule(s, ticket.size) for s in ticket.schedule]))

    @property
    def sites(self) -> set[str]:
        """Parties with a vote on some query."""
        return {self.cohorts[row].site for row in np.flatnonzero(self.present.any(axis=1))}

    def of(self, sites: Collection[str]) -> Attendance:
        """Return the same with votes only from the parties in `sites`."""
        return self.without({cohort for cohort in self.cohorts if cohort.site not in sites})

    def without(self, absent: Collection[Cohort]) -> Attendance:
        """Return the same without votes from the cohorts that are `absent`."""
        kept = np.array([cohort not in absent for cohort in self.cohorts])
        return Attendance(self.cohorts, self.present & kept[:, None])

    def totals(self) -> NDArray[np.int64]:
        """Weight of all votes on each query, int64 (Q,) in steps of 2^-16 vote."""
        return np.array([c.total for c in self.cohorts], dtype=np.int64) @ self.present.astype(np.int64)

    def totals_of(self, site: str) -> NDArray[np.int64]:
        """Return one party's part of `totals`; zeros for a party without a cohort here."""
        rows = self._rows.get(site, [])
        return np.array([self.cohorts[row].total for row in rows], dtype=np.int64) @ self.present[rows]

    def totals_by_label(self, labels: int) -> NDArray[np.int64]:
        """Return `totals` per label of each query, int64 (Q, labels); abstainers count for no answer."""
        weights = np.repeat([[cohort.total] for cohort in self.cohorts], labels, axis=1)
        for row, cohort in enumerate(self.cohorts):
            weights[row, list(cohort.abstains)] = 0
        return self.present.T.astype(np.int64) @ weights.astype(np.int64)

    def voters(self) -> int:
        """Return the largest number of teachers (or records) that vote on one query."""
        each = np.array([c.voters for c in self.cohorts], dtype=np.int64)
        return int((each @ self.present.astype(np.int64)).max(initial=0))

    def fewest_parties(self) -> int:
        """Return the smallest number of parties that vote on a query, or on a label with any vote."""
        fewest = int(self._parties().min())
        for label in {label for cohort in self.cohorts for label in cohort.abstains}:
            parties = self._parties(label)
            fewest = int(parties[parties > 0].min(initial=fewest))
        return fewest

    def schedule(self, participants: Iterable[common_pb2.Participant]) -> list[common_pb2.Schedule]:
        """Return a ticket's messages for the voting `participants`, whose cohorts are all here."""
        rows = iter(self.present)
        voting = self.sites
        messages = [
            common_pb2.Schedule(participant=party, queries=[_pack(next(rows)) for _ in party.cohorts])
            for party in participants
        ]
        return [message for message in messages if message.participant.site in voting]

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """Row indices of each party's cohorts."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row, cohort in enumerate(self.cohorts):
            rows[cohort.site].append(row)
        return dict(rows)

    def _parties(self, label: int | None = None) -> NDArray[np.int64]:
        """Return how many parties vote on each query, int64 (Q,), or on one label of it."""
        parties = np.zeros(self.present.shape[1], dtype=np.int64)
        for own in self._rows.values():
            voting = [row for row in own if label not in self.cohorts[row].abstains]
            parties += self.present[voting].any(axis=0)
        return parties


def _pack(queries: NDArray[np.bool_]) -> bytes:
    return b"" if queries.all() else np.packbits(queries).tobytes()
