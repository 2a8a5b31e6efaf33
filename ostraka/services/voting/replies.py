"""Replies of answered batches, in memory only, so that a retry gets the same bytes."""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from ostraka.common.errors import ErrorCode
from ostraka.protos.ostraka.v1 import party_pb2
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
