"""Metrics of a querying party: batches and queries by kind of session, and the steps of a batch."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ostraka.client.session.meter import Peer, Traffic
from ostraka.common.plan.plan import Plan
from ostraka.common.telemetry.registry import SECONDS

SIZES_TELL = frozenset({("guardian", "release")})
"""Steps that receive answers, whose size says what they are."""


class QueryMetrics:
    """Metrics of one querying party; safe to use from many threads."""

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register them."""
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
