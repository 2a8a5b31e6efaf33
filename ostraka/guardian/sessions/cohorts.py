"""Cohorts: teachers of one party that take part together, and the units that pay for their votes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ostraka.common.mechanism import JointTraining, Mechanism
from ostraka.common.privacy import Influence
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.guardian.ledger import UnitKey
from ostraka.protos.ostraka.v1 import common_pb2

ONE_VOTE_STEPS = 2**FRACTION_BITS
"""Weight of a whole vote, in steps of the ballots' lattice."""


@dataclass(frozen=True)
class Cohort:
    """Teachers of one party that vote on the same queries.

    Attributes:
        site: the party.
        groups: whose records they were trained on, each with what one record or person changes in a query.
        voters: how many they are; the records where these vote themselves, and where gradients of
            records are summed how many of these there are.
        weight: of each vote, in steps of 2^-16 vote.
        abstains: labels on which they do not vote, by their place among those that the plan asks about.
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
        """Return the units that its votes are charged to: a record's charge debits its label budget too."""
        if adjacency == "label":
            return self.units("label")
        return self.units("record") | self.units("label")


def declared(manifest: common_pb2.Manifest) -> list[common_pb2.Cohort]:
    """Return the cohorts of a party's manifest, each vote weighing one: mixed teachers are one cohort."""
    if manifest.mixed:
        return [_message(manifest.groups, manifest.groups[0].teachers)]
    return [_message([group], group.teachers) for group in manifest.groups]


def cohorts_of(
    participant: common_pb2.Participant,
    manifest: common_pb2.Manifest,
    mechanism: Mechanism,
    abstains: tuple[int, ...] = (),
) -> tuple[Cohort, ...]:
    """Return a participant's cohorts in its message's order; they do not vote on labels it `abstains` from.

    What a record changes is its copies, times what a person's records change in one vote. Records that vote
    themselves do so once.
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
        return sum(group.records for group in named)
    if isinstance(mechanism, JointTraining) and mechanism.gradient_radius is not None:
        return sum(group.records * max(1, group.copies) for group in named)
    return cohort.teachers


def _message(groups: Iterable[common_pb2.Group], teachers: int) -> common_pb2.Cohort:
    cohort = common_pb2.Cohort(teachers=teachers, weight=ONE_VOTE_STEPS)
    for group in groups:
        cohort.groups.append(group.name)
        cohort.copies.append(max(1, group.copies))
        cohort.records.append(group.records)
    return cohort
