"""Batches answered once: ballots shared under a fresh seed, the journal, the reply, kept for retries."""

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
    """What a party votes in one batch."""

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """Return the guardian's share, where the querying party's is what `seed` expands to."""


@dataclass(frozen=True)
class UnverifiedBallots:
    """Ballots of all cohorts together, weighted.

    Attributes:
        votes: (queries, width).
        noise: what this party adds to every count, each of them (queries, width) in steps of 2^-16 vote.
    """

    votes: NDArray[np.number[Any]] = field(repr=False)
    noise: tuple[NDArray[np.int64], ...] = field(default=(), repr=False)

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """As `Ballots.share`."""
        ring = permission.plan.modulus
        rows, width = self.votes.shape
        share = ring.sum([split(self.votes, seed, ring), *map(ring.wrap, self.noise)])
        return GuardianShare(*permission.key, rows, width, ring.to_bytes(share))


@dataclass(frozen=True)
class VerifiedBallots:
    """Ballots whose counts the guardian and the querying party verify.

    Attributes:
        parts: what is proved.
        votes: of the cohorts of each part, or all with their noise, as it takes them, (queries, width).
        random: takes a number of bytes.
    """

    parts: tuple[AnyPart, ...]
    votes: tuple[NDArray[np.float64], ...] = field(repr=False)
    random: Callable[[int], bytes] = secrets.token_bytes

    def share(self, permission: Permission, seed: bytes) -> GuardianShare:
        """As `Ballots.share`."""
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
    """What was asked, as a digest, and the reply to it."""

    digest: bytes
    reply: party_pb2.VoteReplyHeader = field(repr=False)


@dataclass
class Slot:
    """One batch: whoever holds the lock may vote on it, and `answered` is set once.

    `delivery` then takes the guardian its share.
    """

    ends_at: float
    # Held from the first look at the slot to the guardian's word: two calls for one batch vote once.
    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: Answered | None = None
    delivery: Delivery | None = field(default=None, repr=False)


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
        # Guards which slots there are, never what is in one: nobody waits here for a vote.
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
"""Takes the plan and the number of queries of a batch that was answered."""


class BallotGuardian(Submitter, Protocol):
    """Where shares go, and who charges encrypted batches."""

    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        """Return when the guardian charges the batch from now on; raise otherwise."""


@dataclass(frozen=True)
class OpenAnswer:
    """The answer of one batch while one thread holds it.

    Attributes:
        slot: of the batch, whose lock is held.
        permission: to answer it.
        request_digest: of all that the reply depends on.
        charges: what it costs.
    """

    slot: Slot
    permission: Permission
    request_digest: bytes
    charges: Sequence[GroupCharge]

    @property
    def is_new(self) -> bool:
        """Whether nobody voted on the batch yet: it is to be recorded before it can be submitted."""
        return self.slot.answered is None


@dataclass(eq=False, repr=False)
class IdempotentAnswers:
    """Answers of permitted batches, each made once; safe to use from many threads.

    Attributes:
        journal: where answered batches go, and `guardian` where their shares do.
        clock: tells when batches are forgotten.
        seed: returns 32 fresh random bytes for a batch.
        on_answered: called with every batch once, when it is in the journal.
    """

    journal: Journal
    guardian: Submitter
    clock: Clock
    seed: Callable[[], bytes] = fresh_seed
    on_answered: OnAnswered = lambda plan, queries: None
    _replies: Replies[Slot] = field(init=False)

    def __post_init__(self) -> None:
        """Make room for batches."""
        self._replies = Replies(Slot)

    @contextmanager
    def open(
        self, permission: Permission, request_digest: bytes, charges: Sequence[GroupCharge]
    ) -> Iterator[OpenAnswer]:
        """Hold the answer of a batch within the block, in one thread at a time.

        `request_digest` is of all that the reply depends on, and `charges` what it costs.
        Raises `batch.altered`, `batch.restarted`, `party.cap_reached` or `policy.daily_limit`, so that nobody
        votes on a batch that is not answered.
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
        """Share the ballots of a new batch under a fresh seed, and put it into the journal.

        Raises what `open` does: other batches may have used up what was left since.
        """
        permission = answer.permission
        session_id, batch_id = permission.key
        charges = answer.charges
        seed = self.seed()
        share = ballots.share(permission, seed)
        # Durable before anything can leave: what is not in the journal could be answered, and cost, twice.
        self.journal.record(session_id, batch_id, charges, permission.query_count, self.clock.now())
        self.on_answered(permission.plan, permission.size)
        answer.slot.delivery = Delivery(share)
        header = party_pb2.VoteReplyHeader(rows=share.rows, width=share.width, seed=seed)
        answer.slot.answered = Answered(answer.request_digest, header)

    def submit(self, answer: OpenAnswer) -> party_pb2.VoteReplyHeader:
        """Return the reply once the guardian has this party's share, as `Delivery.finish` says."""
        slot = answer.slot
        assert slot.answered is not None  # noqa: S101 - recorded before, or found
        assert slot.delivery is not None  # noqa: S101 - made with it
        slot.delivery.finish(self.guardian)
        return slot.answered.reply
