"""Batches answered once: the journal, a fresh seed, the guardian's share, the reply."""

from collections.abc import Callable, Sequence
from typing import Protocol

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.expansion import fresh_seed
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.journal.charges import GroupCharge
from ostraka.services.journal.journal import Journal, restarted
from ostraka.services.voting.replies import Answered, Replies, Slot
from ostraka.services.voting.shared_ballots import Ballots
from ostraka.services.voting.submission import GuardianShare

FINAL = frozenset(
    {
        ErrorCode.BATCH_ALTERED,
        ErrorCode.BATCH_DEAD,
        ErrorCode.BATCH_FROZEN,
        ErrorCode.SESSION_ENDED,
        ErrorCode.SESSION_UNKNOWN,
    }
)
"""What the guardian refuses a share with for good: nothing of such a batch is kept but that it is over."""

OnAnswered = Callable[[Plan, int], object]
"""Takes the plan and the number of queries of a batch that was answered."""


class Submitter(Protocol):
    """Where the guardian's shares go."""

    def submit(self, share: GuardianShare) -> None:
        """Return when the guardian has acknowledged the share; raise otherwise."""


class BallotGuardian(Submitter, Protocol):
    """Where shares go, and who charges encrypted batches."""

    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        """Return when the guardian charges the batch from now on; raise otherwise."""


class IdempotentAnswers:
    """Answers of permitted batches, each made once; safe to use from many threads."""

    def __init__(
        self,
        journal: Journal,
        guardian: Submitter,
        clock: Clock,
        seed: Callable[[], bytes] = fresh_seed,
        on_answered: OnAnswered = lambda plan, queries: None,
    ) -> None:
        """Take where answered batches and their shares go; `seed` gives 32 fresh random bytes per batch.

        `on_answered` is called with every batch once, when it is in the journal.
        """
        self._journal = journal
        self._guardian = guardian
        self._clock = clock
        self._seed = seed
        self._on_answered = on_answered
        self._replies = Replies(Slot)

    def answer(
        self,
        permission: Permission,
        request_digest: bytes,
        charges: Sequence[GroupCharge],
        ballots: Callable[[], Ballots],
    ) -> party_pb2.VoteReplyHeader:
        """Return the reply to the request with this digest; the same again gets the same bytes.

        `ballots` gives them, and is called only for a batch that may be answered.
        Raises `batch.altered`, `batch.restarted`, `party.cap_reached`, `policy.daily_limit`, or what the
        guardian refuses the share with; a retry then submits it again, unless the refusal is `FINAL`.
        """
        slot = self._replies.slot(permission.key, permission.ends_at, self._clock.now())
        with slot.lock:
            answered = slot.answered or self._make(slot, permission, request_digest, charges, ballots)
            if answered.digest != request_digest:
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    f"Batch {permission.batch_id} was answered with other content: send the same content "
                    "again, or ask under a new batch id.",
                )
            self._submit(slot)
            return answered.reply

    def _submit(self, slot: Slot) -> None:
        """Have the guardian take the slot's share; one that it never will is forgotten, and refused again."""
        if slot.refused is None and slot.unacknowledged is not None:
            try:
                self._guardian.submit(slot.unacknowledged)
            except OstrakaError as exc:
                if exc.code not in FINAL:
                    raise
                slot.refused = exc.code, exc.message
            slot.unacknowledged = None
        if slot.refused is not None:
            raise OstrakaError(*slot.refused)

    def _make(
        self,
        slot: Slot,
        permission: Permission,
        request_digest: bytes,
        charges: Sequence[GroupCharge],
        ballots: Callable[[], Ballots],
    ) -> Answered:
        """Fill the slot; the batch is durable in the journal before anything can leave."""
        session_id, batch_id = permission.key
        if self._journal.holds(session_id, batch_id):
            raise restarted(batch_id)
        self._journal.check(charges, permission.query_count, self._clock.now())
        seed = self._seed()
        share = ballots().share(permission, seed)
        self._journal.record(session_id, batch_id, charges, permission.query_count, self._clock.now())
        self._on_answered(permission.plan, permission.size)
        slot.unacknowledged = share
        header = party_pb2.VoteReplyHeader(rows=share.rows, width=share.width, seed=seed)
        slot.answered = Answered(request_digest, header)
        return slot.answered
