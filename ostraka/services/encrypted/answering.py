"""Encrypted batches begun, found again and answered."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ostraka.common.clock import Clock
from ostraka.common.crypto.stream import SEED_BYTES, Stream
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.services.admission.grants import Permission
from ostraka.services.encrypted.batch import BEGIN, BatchCircuits, BatchLogits, EncryptedBatch, out_of_order
from ostraka.services.encrypted.head_processes import HeadProcesses
from ostraka.services.hosting.hosting import Hosted
from ostraka.services.journal.journal import Journal, batch_restarted
from ostraka.services.voting.answers import BallotGuardian, Key, OnAnswered, Replies

KEPT = 4
"""Batches of a session under way that are kept at a time, and batches of a querying party that are done; an
older one is as if this party had restarted since."""


@dataclass
class EncryptedSlot:
    """Room for one batch: whoever holds the lock may begin it, once."""

    ends_at: float
    # Held while a batch is begun, so that two calls cannot draw two seeds for it.
    lock: threading.Lock = field(default_factory=threading.Lock)
    batch: EncryptedBatch | None = field(default=None, repr=False)


def _slot_kind(key: Key, slot: EncryptedSlot) -> tuple[str, str]:
    if slot.batch is not None and slot.batch.submitted:
        return "done", slot.batch.querier
    return "session", key[0]


class EncryptedVoter:
    """Answers permitted batches of encrypted queries; safe to call from many threads."""

    def __init__(
        self,
        journal: Journal,
        guardian: BallotGuardian,
        clock: Clock,
        random: Callable[[int], bytes] = secrets.token_bytes,
        on_answered: OnAnswered = lambda plan, queries: None,
        processes: HeadProcesses | None = None,
    ) -> None:
        """Take where begun batches and their shares go; `on_answered` is called with each in the journal.

        Heads with squares are evaluated in the `processes`, if there are any.
        """
        self._journal = journal
        self._guardian = guardian
        self._clock = clock
        self._random = random
        self._on_answered = on_answered
        self._processes = processes
        self._slots = Replies(EncryptedSlot, KEPT, _slot_kind)

    def begin(self, hosted: Hosted, permission: Permission, point: bytes, querier: Identity) -> bytes:
        """Return the points of a batch that `hosted.terms` allow; in the journal before they can leave.

        Raises `batch.altered`, `batch.dead`, `batch.restarted`, `party.cap_reached`, `policy.daily_limit`,
        and `message.invalid` or `crypto.refused` for a point that is none.
        """
        request_digest = permission.digest(point, querier)
        slot = self._slots.slot(permission.key, permission.ends_at, self._clock.now())
        with slot.lock:
            if slot.batch is None:
                slot.batch = self._begin(hosted, permission, request_digest)
        return slot.batch.begin(request_digest, point)

    def find(self, session_id: str, batch_id: int, querier: Identity, step: str) -> EncryptedBatch:
        """Find the batch that a later step belongs to.

        Raises `batch.out_of_order` where it was not begun, `batch.restarted` where it was and is gone, and
        `grant.invalid` for another querying party's.
        """
        slot = self._slots.find((session_id, batch_id), self._clock.now())
        if slot is None or slot.batch is None:
            if self._journal.holds(session_id, batch_id):
                raise batch_restarted(batch_id)
            raise out_of_order(batch_id, step, BEGIN)
        if slot.batch.querier != querier.uri:
            raise OstrakaError(
                ErrorCode.GRANT_INVALID,
                f"The grant of batch {batch_id} was given to another querying party: open an own session.",
            )
        return slot.batch

    def _begin(self, hosted: Hosted, permission: Permission, request_digest: bytes) -> EncryptedBatch:
        kind = hosted.terms.head
        declared = hosted.terms.declared
        assert kind  # noqa: S101 - the terms were checked
        if self._journal.holds(*permission.key):
            raise batch_restarted(permission.batch_id)
        charges = declared.charges(permission)
        self._journal.check(charges, permission.query_count, self._clock.now())
        seed = self._random(SEED_BYTES)
        circuits = BatchCircuits(permission, seed)
        labels = permission.plan.labels
        heads = [
            head.select(labels) if labels else head
            for votes in circuits.votes.cohorts
            for head in hosted.heads[declared.cohorts[votes.place].rows]
        ]
        masks = Stream(seed, "masks").octets(SEED_BYTES)
        logits = BatchLogits(kind, heads, permission.size, masks, self._processes)
        self._journal.record(*permission.key, charges, permission.query_count, self._clock.now())
        self._on_answered(permission.plan, permission.size)
        return EncryptedBatch(permission, request_digest, circuits, logits, self._guardian)
