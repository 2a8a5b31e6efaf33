"""Time and traffic of each step of a run, progress within the current batch, and metrics of both."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ostraka.common.plan.plan import Plan
from ostraka.common.telemetry.registry import SECONDS
from ostraka.common.telemetry.tracing import span

Peer = Literal["party", "guardian", "none"]
"""The other side of a step; "none" for local computation."""
UNTOLD: frozenset[tuple[Peer, str]] = frozenset(
    {("guardian", "begin"), ("guardian", "garble"), ("guardian", "compare"), ("none", "tally")}
)
"""Steps whose number and duration reveal how many queries passed a check."""


@dataclass
class Traffic:
    """Bytes of messages, without the overhead of gRPC and TLS."""

    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class StepTotals:
    """Totals of one step over a run.

    Attributes:
        peer: the other side, "party", "guardian", or "none" for local computation.
        name: name of the step. With parties vote, or begin, garble, evaluate and compare; with the guardian
            release, or begin, garble, compare and open; here encrypt, transfer, decrypt, compare and tally.
        times: how often the step ran.
        seconds: total time, including waiting for the peer; steps with several parties overlap.
        sent: bytes sent.
        received: bytes received.
    """

    peer: Peer
    name: str
    times: int = 0
    seconds: float = 0.0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class StepProgress:
    """Progress of a step of the current batch: `done` of `total` parties, or stages of the tally."""

    step: str
    done: int
    total: int


class SessionObserver(Protocol):
    """Receives steps and batches as they end, from any thread."""

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        """Record a step that succeeded or failed."""

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Record a batch, whether it was released, and how many parties were left out."""


@dataclass
class Meter:
    """Measures steps, from any thread; `on_progress` gets every change of a bar, one call at a time.

    `watch` gets every step except those of a blind tally, which reveal how many queries passed its check.
    """

    on_progress: Callable[[StepProgress], None] = lambda _: None
    watch: SessionObserver | None = None
    timer: Callable[[], float] = time.perf_counter
    _steps: dict[tuple[Peer, str], StepTotals] = field(default_factory=dict, init=False)
    _bars: dict[str, StepProgress] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def steps(self) -> tuple[StepTotals, ...]:
        """Every step so far, in the order of their first end."""
        with self._lock:
            return tuple(self._steps.values())

    @contextmanager
    def measure(self, peer: Peer, name: str) -> Iterator[Traffic]:
        """Time a block and count the traffic that it adds, even if it fails."""
        with self.watching(peer, name) as traffic:
            began = self.timer()
            try:
                yield traffic
            finally:
                self._add(peer, name, self.timer() - began, traffic)

    @contextmanager
    def watching(self, peer: Peer, name: str) -> Iterator[Traffic]:
        """Report a block to `watch` and the trace, without adding it to `steps`."""
        traffic = Traffic()
        if (peer, name) in UNTOLD:
            yield traffic
            return
        began = self.timer()
        with span(f"{peer}.{name}"):
            try:
                yield traffic
            finally:
                if self.watch is not None:
                    self.watch.step(peer, name, self.timer() - began, traffic)

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Report to `watch` how a batch ended."""
        if self.watch is not None:
            self.watch.batch(plan, queries, released=released, left_out=left_out)

    def begin(self, step: str, total: int) -> None:
        """Restart the progress bar for a batch."""
        with self._lock:
            self._show(StepProgress(step, 0, total))

    def advance(self, step: str) -> None:
        """Count one more party, or stage, as done."""
        with self._lock:
            bar = self._bars[step]
            self._show(StepProgress(step, bar.done + 1, bar.total))

    def _show(self, bar: StepProgress) -> None:
        self._bars[bar.step] = bar
        self.on_progress(bar)

    def _add(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        with self._lock:
            step = self._steps.get((peer, name), StepTotals(peer, name))
            self._steps[peer, name] = StepTotals(
                peer,
                name,
                step.times + 1,
                step.seconds + seconds,
                step.sent + traffic.sent,
                step.received + traffic.received,
            )


SIZES_TELL = frozenset({("guardian", "release")})
"""Steps that receive answers: the size of the reply reveals them."""


class QueryMetrics:
    """Metrics of one querying party; thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        kind = ["mechanism", "encoding", "tally", "outcome"]
        self._batches = Counter(
            "ostraka_query_batches",
            "Batches by kind of session and outcome: released, or failed and asked again.",
            kind,
            registry=registry,
        )
        self._queries = Counter("ostraka_query_queries", "Queries in these batches.", kind, registry=registry)
        self._seconds = Histogram(
            "ostraka_query_step_seconds",
            "Time of each step of a batch, waiting for the peer included.",
            ["peer", "step"],
            buckets=SECONDS,
            registry=registry,
        )
        self._bytes = Counter(
            "ostraka_query_step_bytes",
            "Bytes of messages of each step.",
            ["peer", "step", "direction"],
            registry=registry,
        )
        self._left_out = Gauge(
            "ostraka_query_parties_left_out", "Parties left out of the last batch.", registry=registry
        )

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        """Record a step that succeeded or failed, after `seconds`."""
        self._seconds.labels(peer, name).observe(seconds)
        self._bytes.labels(peer, name, "out").inc(traffic.sent)
        if (peer, name) not in SIZES_TELL:
            self._bytes.labels(peer, name, "in").inc(traffic.received)

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Record a batch that had a ticket, and whether it was released."""
        outcome = "released" if released else "failed"
        kind = plan.mechanism.kind, plan.encoding, plan.tally, outcome
        self._batches.labels(*kind).inc()
        self._queries.labels(*kind).inc(queries)
        self._left_out.set(left_out)
