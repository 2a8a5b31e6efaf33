"""Cost of calls: processor time of the guardians, of a relay and of this process, bytes, and waiting."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from benchmarks.load.federation import Guardian
from benchmarks.load.relayed import Relayed

T = TypeVar("T")


@dataclass
class Cost:
    """Calls of one kind.

    Attributes:
        call: their name.
        guardian_s: processor seconds of the guardians, including work after their replies.
        relay_s: processor seconds of the relay, if calls go through one.
        agents_s: processor seconds of its sites' agents.
        client_s: processor seconds of this process, which plays everybody else.
        wall_s: from the first call to the last reply.
        sent: bytes of messages to the guardians.
        received: bytes of messages from them.
        waited: seconds that each caller waited.
    """

    call: str
    guardian_s: float = 0.0
    client_s: float = 0.0
    relay_s: float = 0.0
    agents_s: float = 0.0
    wall_s: float = 0.0
    sent: int = 0
    received: int = 0
    waited: list[float] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def time(self, make: Callable[[], T], *, sent: int = 0, received: Callable[[T], int]) -> T:
        """Make a call, and record the sizes of its request and reply."""
        start = time.perf_counter()
        reply = make()
        waited = time.perf_counter() - start
        with self._lock:
            self.waited.append(waited)
            self.sent += sent
            self.received += received(reply)
        return reply

    @property
    def calls(self) -> int:
        """The number of calls."""
        return len(self.waited)

    def figures(self) -> dict[str, float | str]:
        """Return the reported figures: processor and waiting times in ms per call, bytes per call."""
        each = 1000 / self.calls
        p50, p99 = 1000 * np.quantile(self.waited, [0.5, 0.99])
        return {
            "call": self.call,
            "calls": self.calls,
            "guardian_ms": each * self.guardian_s,
            "guardian_s": self.guardian_s,
            "client_ms": each * self.client_s,
            "relay_ms": each * self.relay_s,
            "agents_ms": each * self.agents_s,
            "sent": self.sent / self.calls,
            "received": self.received / self.calls,
            "p50_ms": float(p50),
            "p99_ms": float(p99),
        }


@dataclass
class Meter:
    """Measures kinds of calls one after the other, while there are no other calls to the guardians."""

    guardians: Sequence[Guardian]
    relayed: Relayed | None = None
    costs: list[Cost] = field(default_factory=list)

    @contextmanager
    def measure(self, call: str) -> Iterator[Cost]:
        """Measure the calls of one kind that are made in the block."""
        cost = Cost(call)
        guardian = self._seconds_at_rest()
        by = self._relay_seconds()
        client = time.process_time()
        wall = time.perf_counter()
        yield cost
        cost.wall_s = time.perf_counter() - wall
        cost.client_s = time.process_time() - client
        cost.guardian_s = self._seconds_at_rest() - guardian
        cost.relay_s, cost.agents_s = (
            after - before for after, before in zip(self._relay_seconds(), by, strict=True)
        )
        self.costs.append(cost)

    def _relay_seconds(self) -> tuple[float, float]:
        """Return processor seconds of the relay and of all agents so far."""
        if self.relayed is None:
            return 0.0, 0.0
        return self.relayed.relay.cpu_s, self.relayed.agents.cpu_s

    def _seconds_at_rest(self) -> float:
        return sum(guardian.seconds_at_rest() for guardian in self.guardians)
