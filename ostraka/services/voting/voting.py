"""One batch voted on: features checked, teachers asked or records looked up, ballots formed."""

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.dataset import require_finite
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.sharing.ballots import VOTE, RandomizedLabels, RandomizedLabelSets, RecordCounts
from ostraka.common.task import Task
from ostraka.common.verified.parts import parts_of
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.hosting.hosting import Hosted
from ostraka.services.hosting.records import Records
from ostraka.services.voting.answers import IdempotentAnswers
from ostraka.services.voting.shared_ballots import Ballots, UnverifiedBallots, VerifiedBallots

FEATURE_BYTES = 4


@dataclass(frozen=True)
class Content:
    """What came with a vote's header.

    Attributes:
        data: the chunks in one.
        members: how many records of known clusters they hold; 0: they hold a row for each query.
    """

    data: bytes = field(repr=False)
    members: int = 0

    @staticmethod
    def size(header: party_pb2.VoteHeader) -> int:
        """How many bytes a header announces."""
        if header.members:
            return header.members * (header.columns + 1) * FEATURE_BYTES
        return header.rows * header.columns * FEATURE_BYTES

    @property
    def digest(self) -> bytes:
        """What tells it from any other."""
        return self.members.to_bytes(FEATURE_BYTES, "little") + hashlib.sha256(self.data).digest()

    def rows(self, queries: int) -> NDArray[np.float32]:
        """Return the features, (queries or members, columns)."""
        clusters = self.members * FEATURE_BYTES
        features = np.frombuffer(self.data, "<f4", count=(len(self.data) - clusters) // FEATURE_BYTES)
        return features.astype(np.float32).reshape(self.members or queries, -1)

    def clusters(self, queries: int) -> NDArray[np.int32]:
        """Each member's cluster, int32; raises `message.invalid` for one that is no query."""
        start = len(self.data) - self.members * FEATURE_BYTES
        clusters = np.frombuffer(self.data, "<i4", offset=start).astype(np.int32)
        if ((clusters < 0) | (clusters >= queries)).any():
            raise OstrakaError(
                ErrorCode.MESSAGE_INVALID,
                f"A member is in none of the batch's {queries} clusters: number clusters from 0.",
            )
        return clusters


@dataclass(frozen=True)
class _Batch:
    """A batch that may be voted on: its features, and the cluster of each where these are members."""

    permission: Permission
    X: NDArray[np.float32] = field(repr=False)
    clusters: NDArray[np.int32] | None = field(repr=False)

    @classmethod
    def read(cls, permission: Permission, content: Content, task: Task) -> Self:
        X = content.rows(permission.size)
        size = permission.size
        require_finite(X, task.features, "The batch")
        if task.input.preprocessing == "range" and (X.min() < 0 or X.max() > 1):
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                "The batch has features outside 0 to 1, onto which the task maps its ranges: preprocess "
                "records as the task says before they are sent.",
            )
        return cls(permission, X, content.clusters(size) if content.members else None)

    def shared(self, hosted: Hosted, random: Callable[[int], bytes]) -> Ballots:
        """Return the ballots of everybody scheduled, ready to be shared as the plan says."""
        permission = self.permission
        everybody = range(len(permission.scheduled))
        if permission.plan.ballots == "unverified":
            return UnverifiedBallots(self._votes(hosted, everybody, random, weighted=True))
        parts = parts_of(permission.plan, permission.participant, permission.scheduled)
        votes = (self._votes(hosted, part.cohorts, random, weighted=False) for part in parts)
        return VerifiedBallots(parts, tuple(votes), random)

    def _votes(
        self, hosted: Hosted, cohorts: Iterable[int], random: Callable[[int], bytes], *, weighted: bool
    ) -> NDArray[np.float64]:
        """Ballots of these cohorts, (queries, width); zero where nobody of them is scheduled."""
        plan = self.permission.plan
        chosen = list(cohorts)
        scheduled = np.zeros_like(self.permission.scheduled)
        scheduled[chosen] = self.permission.scheduled[chosen]
        match plan.mechanism.ballot:
            case RandomizedLabels(epsilon=epsilon):
                return _records(hosted).responses(self.X, scheduled, epsilon, random)
            case RandomizedLabelSets(epsilon=epsilon):
                return _records(hosted).label_responses(self.X, scheduled, plan.labels, epsilon, random)
            case RecordCounts() if self.clusters is not None:
                return _records(hosted).members(self.X, self.clusters, scheduled)
            case RecordCounts():
                return _records(hosted).nearest(self.X, scheduled)
        turns = [hosted.terms.declared.turns(self.permission)[place] for place in chosen]
        ballot = plan.mechanism.ballot
        if not weighted:
            turns = [replace(turn, weight=VOTE) for turn in turns]
            ballot = ballot.verifiable
        return hosted.teachers.ballots(self.X, turns, ballot, plan.labels)


class Voter:
    """Answers permitted batches, each once; safe to call from many threads."""

    def __init__(
        self, answers: IdempotentAnswers, random: Callable[[int], bytes] = secrets.token_bytes
    ) -> None:
        """Take what makes each reply once; labels are drawn anew from `random`, which takes a byte count."""
        self._answers = answers
        self._random = random

    def answer(
        self, hosted: Hosted, permission: Permission, content: Content, querier: Identity
    ) -> party_pb2.VoteReplyHeader:
        """Return the reply to a request that `hosted.terms` allow; the same content gets the same bytes.

        Features are little-endian float32, after the task's preprocessing. Raises `data.nan`, `task.mismatch`
        for features beyond what the preprocessing gives, `message.invalid` for clusters that are none, or
        what `IdempotentAnswers.answer` raises.
        """
        batch = _Batch.read(permission, content, hosted.terms.task)
        asked = permission.digest(content.digest, querier)
        charges = hosted.terms.declared.charges(permission)
        return self._answers.answer(permission, asked, charges, lambda: batch.shared(hosted, self._random))


def _records(hosted: Hosted) -> Records:
    assert hosted.records is not None  # noqa: S101 - the policy allows such plans only with records
    return hosted.records
