"""Metrics of a relay: who is attached, how much is carried; never by site, which is for no monitoring."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter
from prometheus_client.core import GaugeMetricFamily, Metric

from ostraka.common.telemetry.registry import Scraped


class RelayMetrics:
    """Counts connections that were passed on, and those that were refused."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry
        self._passed_on = Counter(
            "ostraka_relay_connections",
            "Connections that were passed on, by the role of the site that was called, or that called out.",
            ["role"],
            registry=registry,
        )
        self._refused = Counter(
            "ostraka_relay_refused",
            "Connections that were refused, by the error's code; broken: they were no TLS, or broke off.",
            ["code"],
            registry=registry,
        )

    def count_passed_on(self, role: str) -> None:
        """Count a connection that was passed on."""
        self._passed_on.labels(role).inc()

    def refuse(self, code: str) -> None:
        """Count a connection that was refused."""
        self._refused.labels(code).inc()

    def watch(self, sites: Callable[[], int], tunnels: Callable[[], int]) -> None:
        """Show how many sites are attached, and how many connections are under way."""

        def state() -> Iterator[Metric]:
            yield GaugeMetricFamily("ostraka_relay_sites", "Sites that are attached.", value=sites())
            yield GaugeMetricFamily(
                "ostraka_relay_tunnels", "Sockets for connections of sites.", value=tunnels()
            )

        self._registry.register(Scraped(state))
