"""Encrypted batches begun, found again and answered."""

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from ostraka.common.clock import Clock
from ostraka.common.crypto.stream import SEED_BYTES, Stream
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.noise import NoiseSource, open_exact_noise
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


@dataclass(eq=False, repr=False)
class EncryptedVoter:
    """Answers permitted batches of encrypted queries; safe to call from many threads.

    Attributes:
        journal: where begun batches go, and `guardian` where their shares do.
        clock: tells when batches are forgotten.
        random: returns so many bytes, of which seeds are made.
        on_answered: called with each batch that is in the journal.
        processes: evaluate heads with squares, if there are any.
        noise: opens what draws this party's noise where a plan asks for that.
    """

    journal: Journal
    guardian: BallotGuardian
    clock: Clock
    random: Callable[[int], bytes] = secrets.token_bytes
    on_answered: OnAnswered = lambda plan, queries: None
    processes: HeadProcesses | None = None
    noise: Callable[[], NoiseSource] = open_exact_noise
    _slots: Replies[EncryptedSlot] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for batches."""
        self._slots = Replies(EncryptedSlot, KEPT, _slot_kind)

    def begin(self, hosted: Hosted, permission: Permission, point: bytes, querier: Identity) -> bytes:
        """Return the points of a batch that `hosted.terms` allow; in the journal before they can leave.

        Raises `batch.altered`, `batch.dead`, `batch.restarted`, `party.cap_reached`, `policy.daily_limit`,
        and `message.invalid` or `crypto.refused` for a point that is none.
        """
        request_digest = permission.digest(point, querier)
        slot = self._slots.slot(permission.key, permission.ends_at, self.clock.now())
        with slot.lock:
            if slot.batch is None:
                slot.batch = self._begin(hosted, permission, request_digest)
        return slot.batch.begin(request_digest, point)

    def find(self, session_id: str, batch_id: int, querier: Identity, step: str) -> EncryptedBatch:
        """Find the batch that a later step belongs to.

        Raises `batch.out_of_order` where it was not begun, `batch.restarted` where it was and is gone, and
        `grant.invalid` for another querying party's.
        """
        slot = self._slots.find((session_id, batch_id), self.clock.now())
        if slot is None or slot.batch is None:
            if self.journal.holds(session_id, batch_id):
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
        if self.journal.holds(*permission.key):
            raise batch_restarted(permission.batch_id)
        charges = declared.charges(permission)
        self.journal.check(charges, permission.query_count, self.clock.now())
        seed = self.random(SEED_BYTES)
        circuits = BatchCircuits(permission, seed, self.noise)
        labels = permission.plan.labels
        heads = [
            head.select(labels) if labels else head
            for votes in circuits.votes.cohorts
            for head in hosted.heads[declared.cohorts[votes.place].rows]
        ]
        masks = Stream(seed, "masks").octets(SEED_BYTES)
        logits = BatchLogits(kind, heads, permission.size, masks, self.processes)
        self.journal.record(*permission.key, charges, permission.query_count, self.clock.now())
        self.on_answered(permission.plan, permission.size)
        return EncryptedBatch(permission, request_digest, circuits, logits, self.guardian)
