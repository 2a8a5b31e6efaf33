"""Metrics of the guardian: sessions, batches and queries by kind, and the rest of worst-case budgets."""

import math
from collections import Counter as Tallied
from collections.abc import Callable, Iterator, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import GaugeMetricFamily, Metric

from ostraka.common.clock import Clock
from ostraka.common.plan.plan import Plan
from ostraka.common.telemetry.registry import Fresh, Scraped
from ostraka.guardian.ledger import Budget, Ledger
from ostraka.guardian.ledger.sessions import sessions
from ostraka.guardian.ledger.units import balances

UNITS = 1000
"""Largest number of units with a budget metric, those with the least left."""
STEPS = 100
"""The rest of a budget is reported in whole hundredths, rounded down, which hides most smaller charges."""


class GuardianMetrics:
    """Metrics of one guardian process; safe to use from many threads."""

    def __init__(self, registry: CollectorRegistry, clock: Clock) -> None:
        self._registry = registry
        self._clock = clock
        kind = ["mechanism", "encoding", "tally"]
        self._sessions = Counter(
            "ostraka_guardian_sessions_opened", "Sessions opened, by kind.", kind, registry=registry
        )
        self._batches = Counter(
            "ostraka_guardian_batches",
            "Batches that got a ticket, by kind of session.",
            kind,
            registry=registry,
        )
        self._queries = Counter(
            "ostraka_guardian_queries", "Queries in the batches that got a ticket.", kind, registry=registry
        )
        self._seen = Gauge(
            "ostraka_guardian_party_registered_timestamp_seconds",
            "When a party last registered, which it does every 30 seconds.",
            ["party"],
            registry=registry,
        )
        self._held = Gauge(
            "ostraka_guardian_lease_held",
            "Whether the lease on the ledger was renewed when it was last due.",
            registry=registry,
        )
        self._held.set(1)

    def session_opened(self, plan: Plan) -> None:
        """Count a session that got its grant."""
        self._sessions.labels(plan.mechanism.kind, plan.encoding, plan.tally).inc()

    def batch_opened(self, plan: Plan, queries: int) -> None:
        """Count a batch that got its ticket."""
        kind = plan.mechanism.kind, plan.encoding, plan.tally
        self._batches.labels(*kind).inc()
        self._queries.labels(*kind).inc(queries)

    def note_registration(self, party: str) -> None:
        """Note that a party registered."""
        self._seen.labels(party).set(self._clock.now())

    def lease(self, held: bool) -> None:
        """Note whether the lease was renewed."""
        self._held.set(held)

    def watch(self, ledger: Ledger, under_way: Callable[[], int]) -> None:
        """Report budgets and open sessions from the ledger, and batches under way in this process."""
        budgets = Fresh(lambda: ledger.read(balances.all_budgets))
        opened = Fresh(lambda: ledger.read(sessions.count_open))
        self._registry.register(Scraped(lambda: _state(budgets, opened, under_way)))


def remaining(budget: Budget) -> float:
    """Return the part of a budget neither spent nor reserved in the worst case, in whole hundredths."""
    return math.floor(STEPS * budget.available / budget.budget) / STEPS if budget.budget else 0.0


def _state(
    budgets: Fresh[list[Budget]], sessions: Fresh[int], under_way: Callable[[], int]
) -> Iterator[Metric]:
    known = budgets.value()
    opened = sessions.value()
    yield GaugeMetricFamily(
        "ostraka_guardian_batches_under_way", "Batches whose shares this guardian holds.", value=under_way()
    )
    up = known is not None and opened is not None
    yield GaugeMetricFamily("ostraka_guardian_ledger_up", "Whether the ledger could be read.", value=up)
    if opened is not None:
        yield GaugeMetricFamily("ostraka_guardian_sessions_open", "Sessions that are open.", value=opened)
    if known is not None:
        yield from _budgets(known)


def _budgets(known: Sequence[Budget]) -> Iterator[Metric]:
    left = GaugeMetricFamily(
        "ostraka_guardian_budget_remaining_ratio",
        "Part of a unit's budget that is left by worst-case charges, in whole hundredths.",
        labels=["party", "group", "adjacency"],
    )
    for budget in sorted(known, key=remaining)[:UNITS]:
        left.add_metric(list(budget.key), remaining(budget))
    yield left
    units = GaugeMetricFamily("ostraka_guardian_units", "Units, by state.", labels=["state"])
    for state, count in sorted(Tallied(budget.state for budget in known).items()):
        units.add_metric([state], count)
    yield units
