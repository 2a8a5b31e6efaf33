"""Votes on one batch: features are checked, teachers or records answer, ballots are formed."""

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
from ostraka.common.noise import NoiseSource, open_exact_noise
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.task import Task
from ostraka.common.verified.noised_parts import draw_bounded, parts_with_noise
from ostraka.common.verified.parts import vote_parts
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.hosting.hosting import Hosted
from ostraka.services.hosting.records import AskedRecords
from ostraka.services.voting.answers import Ballots, IdempotentAnswers, UnverifiedBallots, VerifiedBallots

FEATURE_BYTES = 4


@dataclass(frozen=True)
class Content:
    """The content that followed a vote's header.

    Attributes:
        data: the joined chunks.
        members: number of records of known clusters in the data; 0: it has one row per query.
    """

    data: bytes = field(repr=False)
    members: int = 0

    @staticmethod
    def size(header: party_pb2.VoteHeader) -> int:
        """Return the number of bytes that a header announces."""
        if header.members:
            return header.members * (header.columns + 1) * FEATURE_BYTES
        return header.rows * header.columns * FEATURE_BYTES

    @property
    def digest(self) -> bytes:
        """The digest of the content."""
        return self.members.to_bytes(FEATURE_BYTES, "little") + hashlib.sha256(self.data).digest()

    def rows(self, queries: int) -> NDArray[np.float32]:
        """Return the features, (queries or members, columns)."""
        clusters = self.members * FEATURE_BYTES
        features = np.frombuffer(self.data, "<f4", count=(len(self.data) - clusters) // FEATURE_BYTES)
        return features.astype(np.float32).reshape(self.members or queries, -1)

    def clusters(self, queries: int) -> NDArray[np.int32]:
        """Return each member's cluster, int32; raise `message.invalid` for one that is not a query."""
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
    """A batch that may be voted on: its features, and the cluster of each if they are members."""

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

    def ballots(
        self, hosted: Hosted, random: Callable[[int], bytes], noise: Callable[[], NoiseSource]
    ) -> Ballots:
        """Return the ballots of all scheduled teachers or records, ready to be shared as the plan says."""
        permission = self.permission
        everybody = range(len(permission.scheduled))
        draws = permission.plan.mechanism.party_draws(permission.size, permission.plan.classes)
        asked = permission.plan, permission.participant, permission.scheduled
        if permission.plan.ballots == "unverified":
            drawn = tuple(draw.of(noise()) for draw in draws)
            return UnverifiedBallots(self._votes(hosted, everybody, random, weighted=True), drawn)
        if draws:
            ballots = self._votes(hosted, everybody, random, weighted=True) + draw_bounded(draws, noise())
            noised = parts_with_noise(*asked)
            return VerifiedBallots(noised, (ballots,) * len(noised), random)
        parts = vote_parts(*asked)
        votes = tuple(self._votes(hosted, part.cohorts, random, weighted=False) for part in parts)
        return VerifiedBallots(parts, votes, random)

    def _votes(
        self, hosted: Hosted, cohorts: Iterable[int], random: Callable[[int], bytes], *, weighted: bool
    ) -> NDArray[np.float64]:
        """Return ballots of these cohorts, (queries, width); zero where none of them is scheduled."""
        plan = self.permission.plan
        ballot = plan.mechanism.ballot
        chosen = list(cohorts)
        if ballot.of_records:
            scheduled = np.zeros_like(self.permission.scheduled)
            scheduled[chosen] = self.permission.scheduled[chosen]
            assert hosted.records is not None  # noqa: S101 - the policy allows such plans only with records
            asked = AskedRecords(hosted.records, self.X, self.clusters, scheduled, plan.labels, random)
            return ballot.count_records(asked)
        every_turn = hosted.terms.declared.turns(self.permission)
        turns = [every_turn[place] for place in chosen]
        if not weighted:
            # Proofs are about counts without weights, which belong to each part.
            turns = [replace(turn, weight=VOTE) for turn in turns]
            ballot = ballot.verifiable
        return hosted.teachers.ballots(self.X, turns, ballot, plan.labels)


class Voter:
    """Answers permitted batches, each once; thread-safe."""

    def __init__(
        self,
        answers: IdempotentAnswers,
        random: Callable[[int], bytes] = secrets.token_bytes,
        noise: Callable[[], NoiseSource] = open_exact_noise,
    ) -> None:
        """Take the cache that makes each reply once.

        `random(n)` returns n random bytes, for randomised labels; `noise` opens the source of this party's
        noise if the plan needs it.
        """
        self._answers = answers
        self._random = random
        self._noise = noise

    def answer(
        self, hosted: Hosted, permission: Permission, content: Content, querier: Identity
    ) -> party_pb2.VoteReplyHeader:
        """Return the reply to a request that `hosted.terms` allow; the same content gets the same bytes.

        Features are little-endian float32, after the task's preprocessing. Raises `data.nan`, `task.mismatch`
        for features outside the preprocessing's range, `message.invalid` for invalid clusters, or what
        `IdempotentAnswers.open` and `submit` raise; `noise.*` if this party cannot draw noise.
        """
        batch = _Batch.read(permission, content, hosted.terms.task)
        request_digest = permission.digest(content.digest, querier)
        charges = hosted.terms.declared.charges(permission)
        with self._answers.open(permission, request_digest, charges) as answer:
            if answer.is_new:
                self._answers.record(answer, batch.ballots(hosted, self._random, self._noise))
            return self._answers.submit(answer)
