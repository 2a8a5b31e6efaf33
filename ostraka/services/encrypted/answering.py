"""Encrypted batches: begun, found again and answered."""

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
"""Maximum number of a session's batches in progress in memory, and of a querying party's completed batches;
an older one is treated as if this party had restarted since."""


@dataclass
class EncryptedSlot:
    """A slot for one batch: whoever holds the lock may begin it, once."""

    ends_at: float
    # Held while a batch is begun, so two calls cannot draw two seeds for it.
    lock: threading.Lock = field(default_factory=threading.Lock)
    batch: EncryptedBatch | None = field(default=None, repr=False)


def _slot_kind(key: Key, slot: EncryptedSlot) -> tuple[str, str]:
    if slot.batch is not None and slot.batch.submitted:
        return "done", slot.batch.querier
    return "session", key[0]


@dataclass(eq=False, repr=False)
class EncryptedVoter:
    """Answers permitted batches of encrypted queries; thread-safe.

    Attributes:
        journal: records batches that were begun.
        guardian: receives their shares.
        clock: determines when batches are dropped.
        random: `random(n)` returns n random bytes, for seeds.
        on_answered: called with each batch that is in the journal.
        processes: evaluate heads with squares, if there are any.
        noise: opens the source of this party's noise if a plan needs it.
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
        """Create the cache of batches."""
        self._slots = Replies(EncryptedSlot, KEPT, _slot_kind)

    def begin(self, hosted: Hosted, permission: Permission, point: bytes, querier: Identity) -> bytes:
        """Return the points of a batch that `hosted.terms` allow; it is recorded before they are sent.

        Raises `batch.altered`, `batch.dead`, `batch.restarted`, `party.cap_reached`, `policy.daily_limit`,
        and `message.invalid` or `crypto.refused` for an invalid point.
        """
        request_digest = permission.digest(point, querier)
        slot = self._slots.slot(permission.key, permission.ends_at, self.clock.now())
        with slot.lock:
            if slot.batch is None:
                slot.batch = self._begin(hosted, permission, request_digest)
        return slot.batch.begin(request_digest, point)

    def find(self, session_id: str, batch_id: int, querier: Identity, step: str) -> EncryptedBatch:
        """Find the batch of a later step.

        Raises `batch.out_of_order` if it was not begun, `batch.restarted` if it was but is gone, and
        `grant.invalid` if it is another querying party's.
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
