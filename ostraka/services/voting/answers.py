"""Batches answered once: the journal, a fresh seed, the guardian's share, the reply, kept for retries."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.shares import fresh_seed
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.journal.journal import Journal, restarted
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.voting.shared_ballots import Ballots
from ostraka.services.voting.submission import GuardianShare


@dataclass(frozen=True)
class Answered:
    """What was asked, as a digest, and the reply to it."""

    digest: bytes
    reply: party_pb2.VoteReplyHeader = field(repr=False)


@dataclass
class Slot:
    """One batch: whoever holds the lock may vote on it, and `answered` is set once.

    `unacknowledged` is the share that the guardian has yet to take, `refused` why it never will.
    """

    ends_at: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: Answered | None = None
    unacknowledged: GuardianShare | None = field(default=None, repr=False)
    refused: tuple[ErrorCode, str] | None = None


class ExpiringSlot(Protocol):
    """A slot that goes when its grant has ended."""

    ends_at: float


S = TypeVar("S", bound=ExpiringSlot)
Key = tuple[str, int]
"""Session and batch id."""


def _session(key: Key, _: object) -> Hashable:
    return key[0]


class Replies(Generic[S]):
    """Slots by (session, batch), bounded by the grants: a slot goes when its grant has ended.

    Where `most` of a kind may be kept, the oldest goes for every new one beyond; those of a session are of a
    kind, unless `kind` says otherwise.
    """

    def __init__(
        self,
        make: Callable[[float], S],
        most: int | None = None,
        kind: Callable[[Key, S], Hashable] = _session,
    ) -> None:
        """Start with an empty cache; `make` gives an empty slot that ends at a time."""
        self._make = make
        self._most = most
        self._kind = kind
        self._slots: dict[Key, S] = {}
        self._lock = threading.Lock()

    def slot(self, key: Key, ends_at: float, now: float) -> S:
        """Return the slot of a batch, the same for everyone who asks; drop those that ended before `now`."""
        with self._lock:
            self._drop_ended(now)
            if key not in self._slots:
                self._slots[key] = self._make(ends_at)
                self._drop_oldest()
            return self._slots[key]

    def find(self, key: Key, now: float) -> S | None:
        """Return the slot of a batch that has one, else None."""
        with self._lock:
            self._drop_ended(now)
            return self._slots.get(key)

    def __len__(self) -> int:
        """Return the number of batches kept."""
        with self._lock:
            return len(self._slots)

    def _drop_ended(self, now: float) -> None:
        for ended in [name for name, slot in self._slots.items() if slot.ends_at < now]:
            del self._slots[ended]

    def _drop_oldest(self) -> None:
        if self._most is None:
            return
        alike: dict[Hashable, list[Key]] = defaultdict(list)
        for key, slot in self._slots.items():
            alike[self._kind(key, slot)].append(key)
        for key in [key for keys in alike.values() for key in keys[: -self._most]]:
            del self._slots[key]


FINAL = frozenset(
    {
        ErrorCode.BATCH_ALTERED,
        ErrorCode.BATCH_DEAD,
        ErrorCode.BATCH_FROZEN,
        ErrorCode.SESSION_ENDED,
        ErrorCode.SESSION_UNKNOWN,
    }
)
"""What the guardian refuses a share with for good: nothing of such a batch is kept but that it is over. After
other refusals that are never retried, such as of an expired certificate, it may take the same share once the
party's operator has mended their reason."""

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
