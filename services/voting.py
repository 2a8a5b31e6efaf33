"""One batch voted on once: teachers, ballots, a fresh seed, the guardian's share, the reply."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from common.clock import Clock
from common.datasets.dataset import require_finite
from common.errors import ErrorCode, OstrakaError
from common.identity import Identity
from common.mechanism import NoiseCluster
from common.sharing.expansion import fresh_seed
from common.sharing.ring import Ring
from common.sharing.shares import split
from common.task import Task
from protos.ostraka.v1 import party_pb2
from services.grants import Permission
from services.hosting.hosted import Hosted
from services.journal import Journal, restarted
from services.replies import Answered, Replies, Slot
from services.submission import Share


class Submitter(Protocol):
    """Where the guardian's shares go."""

    def submit(self, share: Share) -> None:
        """Returns when the guardian has acknowledged the share; raises otherwise."""


class Voter:
    """Answers permitted batches, each once; safe to call from many threads."""

    def __init__(
        self,
        journal: Journal,
        guardian: Submitter,
        clock: Clock,
        seed: Callable[[], bytes] = fresh_seed,
    ) -> None:
        """Takes where answered batches and their shares go; `seed` gives 32 fresh random bytes a batch."""
        self._journal = journal
        self._guardian = guardian
        self._clock = clock
        self._seed = seed
        self._replies = Replies(Slot)

    def answer(
        self, hosted: Hosted, permission: Permission, features: bytes, querier: Identity
    ) -> party_pb2.VoteReplyHeader:
        """The reply to a request that `hosted.terms` allow; the same content again gets the same bytes.

        Features are little-endian float32, size x columns, after the task's preprocessing. Raises `data.nan`,
        `task.mismatch` for features beyond what the preprocessing gives, `batch.altered`, `batch.restarted`,
        `party.cap_reached`, `policy.daily_limit`, or what the guardian refuses the share with; a retry then
        submits it again.
        """
        X = np.frombuffer(features, "<f4").astype(np.float32).reshape(permission.size, -1)
        _check_features(X, hosted.terms.task)
        asked = permission.digest(features, querier)
        slot = self._replies.slot(permission.key, permission.ends_at, self._clock.now())
        with slot.lock:
            answered = slot.answered or self._vote(hosted, slot, permission, X, asked)
            if answered.digest != asked:
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    f"Batch {permission.batch_id} was answered with other content: send the same content "
                    "again, or ask under a new batch id.",
                )
            if slot.unacknowledged is not None:
                self._guardian.submit(slot.unacknowledged)
                slot.unacknowledged = None
            return answered.reply

    def _vote(
        self, hosted: Hosted, slot: Slot, permission: Permission, X: NDArray[np.float32], asked: bytes
    ) -> Answered:
        """Fills the slot; the batch is durable in the journal before anything can leave."""
        session_id, batch_id = permission.key
        if self._journal.holds(session_id, batch_id):
            raise restarted(batch_id)
        charges = hosted.terms.declared.charges(permission)
        self._journal.check(charges, permission.asked, self._clock.now())
        ballots = _ballots(hosted, X, permission)
        seed, ring = self._seed(), Ring(permission.plan.ring_bits)
        rows, width = ballots.shape
        share = Share(session_id, batch_id, rows, width, ring.to_bytes(split(ballots, seed, ring)))
        self._journal.record(session_id, batch_id, charges, permission.asked, self._clock.now())
        slot.unacknowledged = share
        slot.answered = Answered(asked, party_pb2.VoteReplyHeader(rows=rows, width=width, seed=seed))
        return slot.answered


def _check_features(X: NDArray[np.float32], task: Task) -> None:
    require_finite(X, task.columns, "The batch")
    if task.input.preprocessing == "range" and (X.min() < 0 or X.max() > 1):
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            "The batch has features outside 0 to 1, onto which the task maps its ranges: preprocess "
            "records as the task says before they are sent.",
        )


def _ballots(hosted: Hosted, X: NDArray[np.float32], permission: Permission) -> NDArray[np.float64]:
    """Ballots in votes, (queries, width); zero where this party has no teacher scheduled."""
    mechanism = permission.plan.mechanism
    if isinstance(mechanism, NoiseCluster):
        assert hosted.records is not None  # noqa: S101 - the policy allows it only with records
        return hosted.records.ballots(X, permission.scheduled)
    return hosted.teachers.ballots(X, hosted.terms.declared.turns(permission), mechanism)
