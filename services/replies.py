"""Replies of answered batches, in memory only, so that a retry gets the same bytes."""

import threading
from dataclasses import dataclass, field

from protos.ostraka.v1 import party_pb2
from services.submission import Share


@dataclass(frozen=True)
class Answered:
    """What was asked, as a digest, and the reply to it."""

    digest: bytes
    reply: party_pb2.VoteReplyHeader = field(repr=False)


@dataclass
class Slot:
    """One batch: whoever holds the lock may vote on it, and `answered` is set once.

    `unacknowledged` is the share that the guardian has yet to take.
    """

    ends_at: float
    lock: threading.Lock = field(default_factory=threading.Lock)
    answered: Answered | None = None
    unacknowledged: Share | None = field(default=None, repr=False)


class Replies:
    """Slots by (session, batch), bounded by the grants: a slot goes when its grant has ended."""

    def __init__(self) -> None:
        """An empty cache."""
        self._slots: dict[tuple[str, int], Slot] = {}
        self._lock = threading.Lock()

    def slot(self, key: tuple[str, int], ends_at: float, now: float) -> Slot:
        """The slot of a batch, the same for everyone who asks for it; drops those that ended before `now`."""
        with self._lock:
            for ended in [name for name, slot in self._slots.items() if slot.ends_at < now]:
                del self._slots[ended]
            return self._slots.setdefault(key, Slot(ends_at))

    def __len__(self) -> int:
        """The number of batches kept."""
        with self._lock:
            return len(self._slots)
