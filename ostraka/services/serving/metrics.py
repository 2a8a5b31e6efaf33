"""Metrics of a party: batches and queries by kind of session, steps of a vote, its device and limits."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ostraka.common.clock import Clock
from ostraka.common.identity import Identity
from ostraka.common.learning.device import Device
from ostraka.common.plan.plan import Plan
from ostraka.common.telemetry.registry import SECONDS, Fresh, Scraped
from ostraka.common.telemetry.tracing import span
from ostraka.services.admission.policy import PartyPolicy
from ostraka.services.hosting.admission import Admission
from ostraka.services.hosting.prediction_thread import PredictionThread
from ostraka.services.journal.journal import Journal
from ostraka.services.voting.answers import BallotGuardian
from ostraka.services.voting.submission import GuardianShare

SITES = 100
"""Maximum number of querying parties in the daily metric; the busiest are shown."""


class PartyMetrics:
    """Metrics of one answering party; thread-safe."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        kind = ["mechanism", "encoding", "tally"]
        self._batches = Counter(
            "ostraka_party_batches", "Batches voted on, by kind of session.", kind, registry=registry
        )
        self._queries = Counter(
            "ostraka_party_queries", "Queries in the batches voted on.", kind, registry=registry
        )
        self._steps = Histogram(
            "ostraka_party_step_seconds",
            "Time of each step of a vote: waiting for the device, predicting, submitting the share.",
            ["step"],
            buckets=SECONDS,
            registry=registry,
        )
        self._busy = Counter(
            "ostraka_party_device_busy_seconds", "Time that the device spent predicting.", registry=registry
        )
        self._predicted = Counter(
            "ostraka_party_device_queries", "Queries that the device predicted.", registry=registry
        )

    def count_batch(self, plan: Plan, queries: int) -> None:
        """Count a batch of a session of `plan` that was voted on for the first time."""
        kind = plan.mechanism.kind, plan.encoding, plan.tally
        self._batches.labels(*kind).inc()
        self._queries.labels(*kind).inc(queries)

    def record_wait(self, seconds: float) -> None:
        """Record how long queries waited for the device."""
        self._steps.labels("wait").observe(seconds)

    def record_prediction(self, seconds: float, queries: int) -> None:
        """Record how long the device was busy with queries."""
        self._steps.labels("predict").observe(seconds)
        self._busy.inc(seconds)
        self._predicted.inc(queries)

    @contextmanager
    def submitting(self) -> Iterator[None]:
        """Time the submission of the share in the block."""
        began = time.perf_counter()
        try:
            with span("party.submit"):
                yield
        finally:
            self._steps.labels("submit").observe(time.perf_counter() - began)

    def watch_places(self, admission: Admission) -> None:
        """Report batches in progress, places and bytes held."""
        self._registry.register(Scraped(lambda: _places(admission)))

    def watch_device(self, thread: PredictionThread) -> None:
        """Report the device's queue, health and memory."""
        self._registry.register(Scraped(lambda: _device(thread)))

    def watch_limits(self, journal: Journal, policy: PartyPolicy, clock: Clock) -> None:
        """Report how much of the party's own cap, and of each querying party's day, is used."""
        # Both read the journal, which blocks batches, so they are cached between scrapes.
        used = Fresh(journal.cap_used)
        day = Fresh(lambda: journal.queries_in_day(clock.now()))
        self._registry.register(Scraped(lambda: _limits(used, day, policy.queries_per_day)))


class TimedSubmitter:
    """Forwards submissions to the guardian, and measures their duration."""

    def __init__(self, guardian: BallotGuardian, metrics: PartyMetrics) -> None:
        self._guardian = guardian
        self._metrics = metrics

    def submit(self, share: GuardianShare) -> None:
        """Submit a share through the wrapped submitter, and time it."""
        with self._metrics.submitting():
            self._guardian.submit(share)

    def record_evaluation(self, session_id: str, batch_id: int) -> None:
        """Report an evaluation through the wrapped submitter."""
        self._guardian.record_evaluation(session_id, batch_id)


def _places(admission: Admission) -> Iterator[Metric]:
    places = GaugeMetricFamily("ostraka_party_places", "Places for batches, by state.", labels=["state"])
    places.add_metric(["used"], admission.used)
    places.add_metric(["all"], admission.places)
    yield places
    yield GaugeMetricFamily(
        "ostraka_party_held_bytes", "Bytes of the queries of batches under way.", value=admission.held
    )


def _device(thread: PredictionThread) -> Iterator[Metric]:
    device = thread.device
    yield GaugeMetricFamily(
        "ostraka_party_device_waiting", "Predictions that wait for the device.", value=thread.waiting
    )
    yield GaugeMetricFamily(
        "ostraka_party_device_up",
        "1 while the device works, 0 while teachers fail on a record of zeros.",
        value=float(device.state.works),
    )
    yield CounterMetricFamily(
        "ostraka_party_device_failures",
        "Predictions that failed on a record of zeros, too.",
        value=device.state.failures,
    )
    yield CounterMetricFamily(
        "ostraka_party_device_memory_shortages",
        "Times that memory was too short, and fewer records were tried.",
        value=device.shortages,
    )
    micro_batch = device.micro_batch
    if micro_batch is not None:
        yield GaugeMetricFamily(
            "ostraka_party_device_micro_batch", "Records that are evaluated together now.", value=micro_batch
        )
    yield from _cards(device)


def _cards(device: Device) -> Iterator[Metric]:
    memory = GaugeMetricFamily(
        "ostraka_party_gpu_memory_bytes", "Memory of each GPU.", labels=["gpu", "state"]
    )
    for card in device.memory():
        memory.add_metric([card.card, "used"], card.used)
        memory.add_metric([card.card, "all"], card.all)
    busy = GaugeMetricFamily(
        "ostraka_party_gpu_busy_ratio", "Part of the last second in which each GPU computed.", labels=["gpu"]
    )
    for name, part in device.utilization():
        busy.add_metric([name], part)
    yield from (found for found in (memory, busy) if found.samples)


def _limits(used: Fresh[float | None], day: Fresh[dict[str, int]], limit: int | None) -> Iterator[Metric]:
    spent = used.value()
    if spent is not None:
        yield GaugeMetricFamily(
            "ostraka_party_cap_used_ratio",
            "Part of this party's own worst-case cap that is used.",
            value=spent,
        )
    asked = day.value()
    if limit is None or asked is None:
        return
    ratio = GaugeMetricFamily(
        "ostraka_party_daily_used_ratio",
        "Part of the queries of 24 hours that a querying party has asked.",
        labels=["querier"],
    )
    for querier, queries in sorted(asked.items(), key=lambda one: -one[1])[:SITES]:
        ratio.add_metric([Identity.parse(querier).site], queries / limit)
    yield ratio
