"""Time and bytes of each step of a run, progress within the current batch, and the metrics of both."""

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
"""With whom a step is done; "none" computes here alone."""
UNTOLD: frozenset[tuple[Peer, str]] = frozenset(
    {("guardian", "begin"), ("guardian", "garble"), ("guardian", "compare"), ("none", "tally")}
)
"""Steps that are done as often, and take as long, as queries passed a check."""


@dataclass
class Traffic:
    """Bytes of messages, without what gRPC and TLS add."""

    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class StepTotals:
    """What one step came to over a run.

    Attributes:
        peer: with whom, "party", "guardian", or "none" for what is computed here alone.
        name: of the step. With parties vote, or begin, garble, evaluate and compare; with the guardian
            release, or begin, garble, compare and open; here encrypt, transfer, decrypt, compare and tally.
        times: how often it was done.
        seconds: in all, waiting for the peer included; steps with several parties overlap.
        sent: bytes, and `received` likewise.
    """

    peer: Peer
    name: str
    times: int = 0
    seconds: float = 0.0
    sent: int = 0
    received: int = 0


@dataclass(frozen=True)
class StepProgress:
    """How far a step of the current batch is: `done` of `total` parties, or stages of the tally."""

    step: str
    done: int
    total: int


class SessionObserver(Protocol):
    """Receives steps and batches as they end, from any thread."""

    def step(self, peer: Peer, name: str, seconds: float, traffic: Traffic) -> None:
        """Note a step that was done, or that failed."""

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Note a batch that was released, or was not, and how many parties were left out."""


@dataclass
class Meter:
    """Measures from any thread; `on_progress` is told of every change of a bar, one call at a time.

    `watch` is told of every step but those of a blind tally, which say how many queries passed its check.
    """

    on_progress: Callable[[StepProgress], None] = lambda _: None
    watch: SessionObserver | None = None
    timer: Callable[[], float] = time.perf_counter
    _steps: dict[tuple[Peer, str], StepTotals] = field(default_factory=dict, init=False)
    _bars: dict[str, StepProgress] = field(default_factory=dict, init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    @property
    def steps(self) -> tuple[StepTotals, ...]:
        """Every step that was begun, in the order they were first ended."""
        with self._lock:
            return tuple(self._steps.values())

    @contextmanager
    def measure(self, peer: Peer, name: str) -> Iterator[Traffic]:
        """Time a block, and count what it adds to the traffic; also where it fails."""
        with self.watching(peer, name) as traffic:
            began = self.timer()
            try:
                yield traffic
            finally:
                self._add(peer, name, self.timer() - began, traffic)

    @contextmanager
    def watching(self, peer: Peer, name: str) -> Iterator[Traffic]:
        """Tell `watch`, and the trace, of a block; it is none of the `steps`."""
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
        """Tell `watch` how a batch ended."""
        if self.watch is not None:
            self.watch.batch(plan, queries, released=released, left_out=left_out)

    def begin(self, step: str, total: int) -> None:
        """Restart the progress bar for a batch."""
        with self._lock:
            self._show(StepProgress(step, 0, total))

    def advance(self, step: str) -> None:
        """One party, or stage, more is done."""
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
"""Steps that receive answers, whose size says what they are."""


class QueryMetrics:
    """Metrics of one querying party; safe to use from many threads."""

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
        """Record a step that was done, or that failed, in `seconds`."""
        self._seconds.labels(peer, name).observe(seconds)
        self._bytes.labels(peer, name, "out").inc(traffic.sent)
        if (peer, name) not in SIZES_TELL:
            self._bytes.labels(peer, name, "in").inc(traffic.received)

    def batch(self, plan: Plan, queries: int, *, released: bool, left_out: int) -> None:
        """Record a batch with a ticket that was released, or was not."""
        outcome = "released" if released else "failed"
        kind = plan.mechanism.kind, plan.encoding, plan.tally, outcome
        self._batches.labels(*kind).inc()
        self._queries.labels(*kind).inc(queries)
        self._left_out.set(left_out)
