"""Batches answered once: ballots shared under a fresh seed, the journal, and replies cached for retries."""

import secrets
import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.plan import Plan
from ostraka.common.sharing.shares import SEED_BYTES, fresh_seed, split
from ostraka.common.verified.parts import AnyPart, context_of
from ostraka.common.verified.prover import Prover
from ostraka.protos.ostraka.v1 import party_pb2
from ostraka.services.admission.grants import Permission
from ostraka.services.journal.journal import Journal, batch_restarted
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.voting.delivery import Delivery, Submitter
from ostraka.services.voting.submission import GuardianShare


class Ballots(Protocol):
    """A party's ballots for one batch."""

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """Return the guardian's share, if the querying party's share is the expansion of `seed`."""


@dataclass(frozen=True)
class UnverifiedBallots:
    """Ballots of all cohorts together, weighted.

    Attributes:
        votes: (queries, width).
        noise: this party's noise on every count, each array (queries, width) in steps of 2^-16 vote.
    """

    votes: NDArray[np.number[Any]] = field(repr=False)
    noise: tuple[NDArray[np.int64], ...] = field(default=(), repr=False)

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """Return the guardian's share, see `Ballots.share`."""
        ring = permission.plan.modulus
        rows, width = self.votes.shape
        share = ring.sum([split(self.votes, seed, ring), *map(ring.wrap, self.noise)])
        return GuardianShare(*permission.key, rows, width, ring.to_bytes(share))


@dataclass(frozen=True)
class VerifiedBallots:
    """Ballots whose counts the guardian and the querying party verify.

    Attributes:
        parts: the parts that are proved.
        votes: for each part, the votes of its cohorts, or all votes with noise, (queries, width).
        random: `random(n)` returns n random bytes.
    """

    parts: tuple[AnyPart, ...]
    votes: tuple[NDArray[np.float64], ...] = field(repr=False)
    random: Callable[[int], bytes] = secrets.token_bytes

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """Return the guardian's share, see `Ballots.share`."""
        prover = Prover(
            [part.layout for part in self.parts],
            [part.counts(votes) for part, votes in zip(self.parts, self.votes, strict=True)],
            context_of(*permission.key, permission.participant.site),
            seed,
            self.random(SEED_BYTES),
        )
        rows, width = self.votes[0].shape
        querier = permission.grant.querier
        return GuardianShare(*permission.key, rows, width, prover.guardian_share, prover, querier)


@dataclass(frozen=True)
class Answered:
    """The digest of a request, and the reply to it."""

    digest: bytes
    reply: party_pb2.VoteReplyHeader = field(repr=False)


@dataclass
class Slot:
    """One batch: whoever holds the lock may vote on it, and `answered` is set once.

    `delivery` then delivers the guardian's share.
    """

    ends_at: float
    # Held from the first look at the slot until the guardian's reply, so two calls for a batch vote once.
    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: Answered | None = None
    delivery: Delivery | None = field(default=None, repr=False)


class ExpiringSlot(Protocol):
    """A slot that is dropped when its grant has ended."""

    ends_at: float


S = TypeVar("S", bound=ExpiringSlot)
Key = tuple[str, int]
"""Session and batch id."""


def _session(key: Key, _: object) -> Hashable:
    return key[0]


class Replies(Generic[S]):
    """Slots by (session, batch), limited by grants: a slot is dropped when its grant has ended.

    With `most`, only this many slots of a kind are kept, and the oldest is dropped for each new one; by
    default, a session's slots are one kind.
    """

    def __init__(
        self,
        make: Callable[[float], S],
        most: int | None = None,
        kind: Callable[[Key, S], Hashable] = _session,
    ) -> None:
        """Start with an empty cache; `make` returns an empty slot that ends at a time."""
        self._make = make
        self._most = most
        self._kind = kind
        self._slots: dict[Key, S] = {}
        # Guards the set of slots, not their contents, so it is never held during a vote.
        self._lock = threading.Lock()

    def slot(self, key: Key, ends_at: float, now: float) -> S:
        """Return the slot of a batch, the same for every caller; drop slots that ended before `now`."""
        with self._lock:
            self._drop_ended(now)
            if key not in self._slots:
                self._slots[key] = self._make(ends_at)
                self._drop_oldest()
            return self._slots[key]

    def find(self, key: Key, now: float) -> S | None:
        """Return the slot of a batch, or None."""
        with self._lock:
            self._drop_ended(now)
            return self._slots.get(key)

    def __len__(self) -> int:
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


OnAnswered = Callable[[Plan, int], object]
"""Called with the plan and the number of queries of an answered batch."""


class BallotGuardian(Submitter, Protocol):
    """Receives shares, and charges encrypted batches."""

    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        """Return when the guardian has recorded that it charges the batch from now on; raise otherwise."""


@dataclass(frozen=True)
class OpenAnswer:
    """The answer to one batch while one thread holds it.

    Attributes:
        slot: of the batch; its lock is held.
        permission: to answer it.
        request_digest: of everything that the reply depends on.
        charges: the batch's cost.
    """

    slot: Slot
    permission: Permission
    request_digest: bytes
    charges: Sequence[GroupCharge]

    @property
    def is_new(self) -> bool:
        """Whether nobody has voted on the batch yet: then it must be recorded before it is submitted."""
        return self.slot.answered is None


@dataclass(eq=False, repr=False)
class IdempotentAnswers:
    """Answers to permitted batches, each made once; thread-safe.

    Attributes:
        journal: records answered batches.
        guardian: receives their shares.
        clock: determines when batches are dropped.
        seed: returns 32 fresh random bytes for a batch.
        on_answered: called once for every batch, when it is in the journal.
    """

    journal: Journal
    guardian: Submitter
    clock: Clock
    seed: Callable[[], bytes] = fresh_seed
    on_answered: OnAnswered = lambda plan, queries: None
    _replies: Replies[Slot] = field(init=False)

    def __post_init__(self) -> None:
        """Create the cache of replies."""
        self._replies = Replies(Slot)

    @contextmanager
    def open(
        self, permission: Permission, request_digest: bytes, charges: Sequence[GroupCharge]
    ) -> Iterator[OpenAnswer]:
        """Hold the answer to a batch in the block, in one thread at a time.

        `request_digest` covers everything that the reply depends on; `charges` is the cost. Raises
        `batch.altered`, `batch.restarted`, `party.cap_reached` or `policy.daily_limit`, so no teacher votes
        on a batch that will not be answered.
        """
        slot = self._replies.slot(permission.key, permission.ends_at, self.clock.now())
        with slot.lock:
            if slot.answered is None:
                self._require_answerable(permission, charges)
            elif slot.answered.digest != request_digest:
                raise OstrakaError(
                    ErrorCode.BATCH_ALTERED,
                    f"Batch {permission.batch_id} was answered with other content: send the same content "
                    "again, or ask under a new batch id.",
                )
            yield OpenAnswer(slot, permission, request_digest, charges)

    def _require_answerable(self, permission: Permission, charges: Sequence[GroupCharge]) -> None:
        if self.journal.holds(*permission.key):
            raise batch_restarted(permission.batch_id)
        self.journal.check(charges, permission.query_count, self.clock.now())

    def record(self, answer: OpenAnswer, ballots: Ballots) -> None:
        """Share the ballots of a new batch under a fresh seed, and record it in the journal.

        Raises what `open` does, because other batches may have used up the limits since.
        """
        permission = answer.permission
        session_id, batch_id = permission.key
        charges = answer.charges
        seed = self.seed()
        share = ballots.share(permission, seed)
        # Durable before anything is sent: a batch missing from the journal could be answered, and charged,
        # twice.
        self.journal.record(session_id, batch_id, charges, permission.query_count, self.clock.now())
        self.on_answered(permission.plan, permission.size)
        answer.slot.delivery = Delivery(share)
        header = party_pb2.VoteReplyHeader(rows=share.rows, width=share.width, seed=seed)
        answer.slot.answered = Answered(answer.request_digest, header)

    def submit(self, answer: OpenAnswer) -> party_pb2.VoteReplyHeader:
        """Return the reply once the guardian has this party's share, see `Delivery.finish`."""
        slot = answer.slot
        assert slot.answered is not None  # noqa: S101 - recorded before, or found
        assert slot.delivery is not None  # noqa: S101 - made with it
        slot.delivery.finish(self.guardian)
        return slot.answered.reply
