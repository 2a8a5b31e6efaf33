"""Checks of a request that apply to every kind of query."""

from dataclasses import dataclass
from typing import Literal, Self

from ostraka.common.crypto.logits import Head
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import ticket_invalid
from ostraka.common.task import Task
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import GrantedSession, Permission
from ostraka.services.admission.manifest_terms import Declared
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.teachers.manifest import TeachersManifest

MAX_MEMBERS = 2**20
"""Maximum number of records that a batch may contain with their clusters."""
MAX_QUESTION_BYTES = 2**27
"""Maximum size of a question about a sum: that of the largest share that answers it."""
MAX_MEMBER_VALUES = 2**28
"""Maximum number of all their feature values: 1 GiB."""


@dataclass(frozen=True)
class RequestTerms:
    """The terms of a party's operator and manifest, against which requests are checked.

    Attributes:
        task: the task that its teachers were trained for.
        policy: the operator's policy.
        declared: the party's teachers.
        head: how they are evaluated on encrypted queries; empty if they cannot be.
        encoder: the public network that encodes their input; empty: none.
        encoder_sha256: digest of its weights; empty: none.
    """

    task: Task
    policy: PartyPolicy
    declared: Declared
    head: Head | Literal[""] = ""
    encoder: str = ""
    encoder_sha256: bytes = b""

    @classmethod
    def of(cls, task: Task, policy: PartyPolicy, manifest: TeachersManifest, votes_per_person: int) -> Self:
        """Return the terms of a site with these teachers, which were trained for `task`."""
        return cls(
            task=task,
            policy=policy,
            declared=Declared.of(manifest, votes_per_person),
            head=manifest.head,
            encoder=manifest.encoder,
            encoder_sha256=bytes.fromhex(manifest.encoder_sha256),
        )

    def check(self, session: GrantedSession, querier: Identity) -> None:
        """Raise `policy.refused`, `task.mismatch` or `ticket.invalid` unless such a session is answered."""
        self.policy.check(session.plan, querier, self.head)
        self._check_task(session.plan)
        self._check_labels(session.plan)
        self._check_voters(session.plan)
        self._check_encoder(session.plan)
        self.declared.check(session)

    def check_encrypted(self, permission: Permission, querier: Identity) -> None:
        """Check encrypted queries; raise as `check`, and `party.not_encrypted` if they are not supported."""
        self.check(permission, querier)
        if permission.plan.encoding != "ckks":
            raise _other_call("encoding is plain", "ask for votes with Vote")
        if not self.head:
            raise OstrakaError(
                ErrorCode.PARTY_NOT_ENCRYPTED,
                "This party's teachers cannot be evaluated on encrypted queries: ask its operator to train "
                "them with `ostraka party train --head linear`, leave this party out, or choose encoding "
                "plain.",
            )
        if permission.participant.head != self.head:
            raise ticket_invalid("names another head than this party's teachers have")

    def check_plain(self, permission: Permission, querier: Identity, header: party_pb2.VoteHeader) -> None:
        """Check queries in the clear; raise as `check`.

        Also raises `data.shape` for other columns than the task's, `plan.invalid` for members unless the plan
        counts clusters and charges labels, `message.too_large` for too many.
        """
        self.check(permission, querier)
        if permission.plan.encoding != "plain":
            raise _other_call("encoding is ckks", "ask for votes with Begin")
        if permission.plan.is_training:
            raise _other_call("queries are rounds of a training", "ask for updates with Train")
        if permission.plan.releases_sums:
            raise _other_call("queries are rounds of sums over records", "ask for them with Sum")
        if header.columns != len(self.task.features):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"The batch has {header.columns} features and the task '{self.task.name}' has "
                f"{len(self.task.features)}: send records of the task's columns.",
            )
        if header.members:
            _check_members(permission.plan, header)

    def check_sum(self, permission: Permission, querier: Identity, header: party_pb2.SumHeader) -> None:
        """Check questions that are summed over records; raise as `check`.

        Also raises `plan.invalid` for a plan that releases labels, `message.too_large` for too large a
        question.
        """
        self.check(permission, querier)
        if not permission.plan.mechanism.sums_records:
            raise _other_call(f"mechanism {permission.plan.mechanism.kind} labels queries", "ask with Vote")
        if header.size > MAX_QUESTION_BYTES:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"The question has {header.size} bytes, and at most {MAX_QUESTION_BYTES} are accepted: "
                "ask about fewer features, or a smaller model.",
            )

    def _check_task(self, plan: Plan) -> None:
        known = self.task.outputs
        fits = max(plan.labels) < known if plan.labels else plan.classes == known
        if plan.task_digest != self.task.digest or not fits:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"This party serves the task '{self.task.name}' and the plan asks for another: give all "
                "sites the same task.toml and check it with `ostraka party check` and `ostraka query check`.",
            )

    def _check_labels(self, plan: Plan) -> None:
        if plan.multi_label != self.task.multi_label:
            kinds = {False: "one class for a query", True: "a set of labels for a query"}
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"The task '{self.task.name}' has {kinds[self.task.multi_label]} and the plan asks for "
                f"{kinds[plan.multi_label]}: set the plan's multi_label as the task says.",
            )

    def _check_voters(self, plan: Plan) -> None:
        if plan.mechanism.by_record or self.declared.has_teachers:
            return
        raise OstrakaError(
            ErrorCode.PARTY_NO_TEACHERS,
            f"This party has records but no teachers, and mechanism {plan.mechanism.kind} asks teachers: "
            "leave the party out of the plan, or ask for sums.",
        )

    def _check_encoder(self, plan: Plan) -> None:
        if (plan.encoder, plan.encoder_sha256) != (self.encoder, self.encoder_sha256):
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"This party's teachers were trained with {_encoder_words(self.encoder)} but the plan "
                f"names {_encoder_words(plan.encoder)}, or its weights differ: use the same encoder at "
                "all sites.",
            )


def _check_members(plan: Plan, header: party_pb2.VoteHeader) -> None:
    """If whole records were charged, another record could move all equal records to other clusters."""
    if plan.mechanism.party_setting != "label_counts" or plan.adjacency != "label":
        raise OstrakaError(
            ErrorCode.PLAN_INVALID,
            "Only noise_cluster with adjacency label takes records and their clusters: change the plan, "
            "or send queries.",
        )
    most = min(MAX_MEMBERS, MAX_MEMBER_VALUES // header.columns)
    if header.members > most:
        raise OstrakaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{header.members} records of {header.columns} features are told by their clusters and {most} "
            "are taken: send fewer.",
        )


def _encoder_words(encoder: str) -> str:
    return f"the encoder {encoder}" if encoder else "no encoder"


def _other_call(problem: str, call: str) -> OstrakaError:
    return OstrakaError(ErrorCode.PLAN_INVALID, f"The plan's {problem}: {call} instead.")
