"""Voters of one batch: which cohorts vote on which queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ostraka.common.plan.schedules import scheduled
from ostraka.guardian.sessions.cohorts import Cohort
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Attendance:
    """Cohorts in the order of their participants, and the queries each votes on, bool (cohorts, Q)."""

    cohorts: tuple[Cohort, ...]
    present: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of_ticket(cls, ticket: common_pb2.Ticket, cohorts: Iterable[Cohort]) -> Attendance:
        """Return what a ticket says about those of `cohorts` whose parties it names, in its order."""
        by_site: dict[str, list[Cohort]] = defaultdict(list)
        for cohort in cohorts:
            by_site[cohort.site].append(cohort)
        chosen = [cohort for schedule in ticket.schedule for cohort in by_site[schedule.participant.site]]
        return cls(tuple(chosen), np.concatenate([scheduled(s, ticket.size) for s in ticket.schedule]))

    @property
    def sites(self) -> set[str]:
        """Parties with a vote on some query."""
        return {self.cohorts[row].site for row in np.flatnonzero(self.present.any(axis=1))}

    def of(self, sites: Collection[str]) -> Attendance:
        """Return the same with no vote from any party other than `sites`."""
        return self.without({cohort for cohort in self.cohorts if cohort.site not in sites})

    def without(self, absent: Collection[Cohort]) -> Attendance:
        """Return the same with no vote from the cohorts that are `absent`."""
        kept = np.array([cohort not in absent for cohort in self.cohorts])
        return Attendance(self.cohorts, self.present & kept[:, None])

    def totals(self) -> NDArray[np.int64]:
        """Weight of all votes on each query, int64 (Q,) in steps of 2^-16 vote."""
        return np.array([c.total for c in self.cohorts], dtype=np.int64) @ self.present.astype(np.int64)

    def totals_of(self, site: str) -> NDArray[np.int64]:
        """Return the part of `totals` that is one party's; zeros for one that has no cohort here."""
        rows = self._rows.get(site, [])
        return np.array([self.cohorts[row].total for row in rows], dtype=np.int64) @ self.present[rows]

    def totals_by_label(self, labels: int) -> NDArray[np.int64]:
        """Return `totals` per label of each query, int64 (Q, labels): abstainers count for neither answer."""
        weights = np.repeat([[cohort.total] for cohort in self.cohorts], labels, axis=1)
        for row, cohort in enumerate(self.cohorts):
            weights[row, list(cohort.abstains)] = 0
        return self.present.T.astype(np.int64) @ weights.astype(np.int64)

    def voters(self) -> int:
        """Return the most teachers (or records) that vote on one query."""
        each = np.array([c.voters for c in self.cohorts], dtype=np.int64)
        return int((each @ self.present.astype(np.int64)).max(initial=0))

    def fewest_parties(self) -> int:
        """How many parties vote on the query with the fewest, or on the label of it on which any votes."""
        fewest = int(self._parties().min())
        for label in {label for cohort in self.cohorts for label in cohort.abstains}:
            parties = self._parties(label)
            fewest = int(parties[parties > 0].min(initial=fewest))
        return fewest

    def schedule(self, participants: Iterable[common_pb2.Participant]) -> list[common_pb2.Schedule]:
        """Return a ticket's messages for those of `participants` that vote, whose cohorts are all here."""
        rows, voting = iter(self.present), self.sites
        messages = [
            common_pb2.Schedule(participant=party, queries=[_packed(next(rows)) for _ in party.cohorts])
            for party in participants
        ]
        return [message for message in messages if message.participant.site in voting]

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """Places of each party's cohorts."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row, cohort in enumerate(self.cohorts):
            rows[cohort.site].append(row)
        return dict(rows)

    def _parties(self, label: int | None = None) -> NDArray[np.int64]:
        """How many parties vote on each query, int64 (Q,), or on one label of it."""
        parties = np.zeros(self.present.shape[1], dtype=np.int64)
        for own in self._rows.values():
            voting = [row for row in own if label not in self.cohorts[row].abstains]
            parties += self.present[voting].any(axis=0)
        return parties


def _packed(queries: NDArray[np.bool_]) -> bytes:
    return b"" if queries.all() else np.packbits(queries).tobytes()
