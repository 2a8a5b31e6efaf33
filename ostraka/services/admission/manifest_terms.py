"""Terms of a party's manifest: who votes in a batch, and the cost to each group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.plan import check_protected
from ostraka.common.plan.schedules import ticket_invalid
from ostraka.common.sharing.ballots import VOTE
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.admission.grants import GrantedSession, Permission
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers.manifest import TeacherCohort, TeachersManifest


@dataclass(frozen=True)
class ScheduledTeachers:
    """Teachers that vote together, their queries, and the weight of their votes.

    Attributes:
        rows: the teachers, as rows of all the party's teachers.
        scheduled: whether they vote on a query, (Q,).
        weight: of each of their votes, in steps of 2^-16 vote.
    """

    rows: slice
    scheduled: NDArray[np.bool_]
    weight: int


@dataclass(frozen=True)
class Declared:
    """A party's teachers as its manifest declares them.

    Attributes:
        cohorts: teachers that vote together.
        copies: number of teachers that one record of each group touches, in the groups' order; 1 without
            teachers.
        votes_per_person: how much one person's records change in one vote of each of these teachers.
        together: how they learned with other parties' teachers, as in Manifest; empty if they did not.
        abstains: indices of labels on which they do not vote, in rising order.
        shared_features: whether they learned from features that all sites know, and only from labels of their
            own.
        whole_persons: whether all records of a person went to the same teachers.
    """

    cohorts: tuple[TeacherCohort, ...]
    copies: Mapping[str, int]
    votes_per_person: int
    together: str = ""
    abstains: tuple[int, ...] = ()
    shared_features: bool = False
    whole_persons: bool = False

    @classmethod
    def of(cls, manifest: TeachersManifest, votes_per_person: int) -> Self:
        """Return the terms of these teachers, as in their `declaration`."""
        copies = {group.name: group.copies for group in manifest.groups}
        return cls(
            manifest.cohorts,
            copies,
            votes_per_person,
            manifest.together,
            manifest.abstains,
            manifest.shared_features,
            manifest.whole_persons,
        )

    def check(self, session: GrantedSession) -> None:
        """Raise `ticket.invalid` unless the session is with exactly these teachers, with allowed weights.

        Raises `plan.invalid` if the plan charges for a protection that these teachers do not give.
        """
        check_protected(session.plan, session.participant.site, shared_features=self.shared_features)
        participant = session.participant
        cohorts = self._cohorts_in(session.plan.mechanism)
        teachers = sum(_size(cohort) for cohort in cohorts)
        if participant.teachers != teachers:
            raise ticket_invalid(f"schedules {participant.teachers} of this party's {teachers} teachers")
        if participant.max_votes_per_person != self.votes_per_person:
            raise ticket_invalid(
                f"counts {participant.max_votes_per_person} votes a person and this party "
                f"{self.votes_per_person}"
            )
        named = [(tuple(c.groups), tuple(c.copies), c.teachers) for c in participant.cohorts]
        own = [(c.groups, tuple(self.copies[group] for group in c.groups), _size(c)) for c in cohorts]
        if named != own:
            raise ticket_invalid("names other groups, copies or teachers of them than this party has")
        if participant.together != self.together:
            raise ticket_invalid("says otherwise than this party how its teachers learned with others")
        if tuple(participant.abstains) != self.abstains:
            raise ticket_invalid("lets this party abstain from other labels than its manifest does")
        if participant.shared_features != self.shared_features:
            raise ticket_invalid("says otherwise than this party whose features its teachers learned from")
        if participant.whole_persons != self.whole_persons:
            raise ticket_invalid("says otherwise than this party whether it told its records apart by person")
        self._check_weights(session)

    @property
    def has_teachers(self) -> bool:
        """Whether the party has voters: it may have only records."""
        return any(_size(cohort) for cohort in self.cohorts)

    def _cohorts_in(self, mechanism: Mechanism) -> tuple[TeacherCohort, ...]:
        """Return the cohorts: for sums the records of each group, without teachers."""
        if mechanism.sums_records:
            return tuple(TeacherCohort((group,), slice(0, 0)) for group in self.copies)
        return self.cohorts

    def turns(self, permission: Permission) -> list[ScheduledTeachers]:
        """Return which teachers vote on which query, with which weight."""
        sent = zip(self.cohorts, permission.scheduled, permission.participant.cohorts, strict=True)
        return [ScheduledTeachers(own.rows, scheduled, cohort.weight) for own, scheduled, cohort in sent]

    def charges(self, permission: Permission) -> list[GroupCharge]:
        """Return the batch's cost to the records of each group whose teachers vote in it.

        Records that vote themselves do so once, whatever their copies. Labels on which these teachers do not
        vote cost nothing (docs/dependencies.md).
        """
        plan = permission.plan
        return [
            GroupCharge(
                mechanism=plan.mechanism,
                queries=int(scheduled.sum()),
                classes=plan.classes - len(plan.columns_of(self.abstains)),
                sensitivity=self.votes_per_person
                * (1 if plan.mechanism.by_record else copies)
                * cohort.weight
                / VOTE,
                group=group,
                adjacency=plan.adjacency,
            )
            for cohort, scheduled in zip(permission.participant.cohorts, permission.scheduled, strict=True)
            for group, copies in zip(cohort.groups, cohort.copies, strict=True)
            if scheduled.any()
        ]

    def _check_weights(self, session: GrantedSession) -> None:
        """Check weights: they are relative to a mean, so a cohort weighs at most as much as all teachers."""
        weighting = session.plan.variant == "weighting"
        most = VOTE * session.grant.teachers
        for cohort in session.participant.cohorts:
            if cohort.weight != VOTE and not weighting:
                raise ticket_invalid("weighs votes in a plan without weighting")
            # The weights of records have mean 1 over all parties' records, which a party does not know.
            bounded = session.plan.mechanism.sums_records or cohort.weight * cohort.teachers <= most
            if cohort.weight <= 0 or not bounded:
                raise ticket_invalid(f"gives votes a weight of {cohort.weight} steps of 2^-16")


def declaration(manifest: TeachersManifest, site: str, votes_per_person: int) -> common_pb2.Manifest:
    """Return a site's declaration of its teachers; the same before and after they are trained."""
    return common_pb2.Manifest(
        site=site,
        task_digest=bytes.fromhex(manifest.task_digest),
        groups=[common_pb2.Group(**group.model_dump()) for group in manifest.groups],
        max_votes_per_person=votes_per_person,
        training=manifest.training,
        mixed=manifest.mixed,
        head=manifest.head,
        encoder=manifest.encoder,
        encoder_sha256=bytes.fromhex(manifest.encoder_sha256),
        together=manifest.together,
        abstains=manifest.abstains,
        shared_features=manifest.shared_features,
        whole_persons=manifest.whole_persons,
    )


def _size(cohort: TeacherCohort) -> int:
    teachers: int = cohort.rows.stop - cohort.rows.start
    return teachers
