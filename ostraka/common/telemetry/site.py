"""Metrics of every process of a site: its version, its certificates, its revocation list."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC
from importlib.metadata import version
from pathlib import Path

from cryptography import x509
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, InfoMetricFamily, Metric

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.config import SiteConfig, load_site
from ostraka.common.identity import Credentials
from ostraka.common.telemetry.registry import Fresh, Scraped, serving_metrics
from ostraka.common.telemetry.tracing import tracing
from ostraka.common.wire.contexts import PROTOCOL_VERSION

DAY_S = 86_400.0


@contextmanager
def observing(
    folder: Path,
    registry: CollectorRegistry | None = None,
    *,
    credentials: Credentials | None = None,
    clock: Clock | None = None,
) -> Iterator[CollectorRegistry]:
    """Trace the process of site folder `folder` and serve its metrics within the block.

    Args:
        folder: the site's folder; its site.toml gives the address of the metrics.
        registry: the metrics; a new registry by default.
        credentials: the process's credentials; by default read from the folder at the first scrape.
        clock: the clock that tells how soon certificates expire.

    Raises:
        OstrakaError: `config.invalid`, `server.port_in_use`.
    """
    site = load_site(folder)
    with tracing(site.role, site.site), serving_metrics(folder, registry) as served:
        loaded = Fresh(lambda: credentials or Credentials.of(site))
        served.register(Scraped(_state(site, loaded, clock or SystemClock())))
        yield served


def _state(site: SiteConfig, loaded: Fresh[Credentials], clock: Clock) -> Callable[[], Iterator[Metric]]:
    def state() -> Iterator[Metric]:
        yield InfoMetricFamily("ostraka_build", "What runs, and as whom.", value=_build(site))
        yield from _disk(site.folder)
        own = loaded.value()
        if own is None:
            return
        days = GaugeMetricFamily(
            "ostraka_certificate_days_left",
            "Days until a certificate expires; below zero once it has.",
            labels=["certificate"],
        )
        for name, pem in (("tls", own.tls_cert_pem), ("signing", own.signing_cert_pem), ("ca", own.ca_pem)):
            days.add_metric([name], (_expires(pem) - clock.now()) / DAY_S)
        yield days
        yield GaugeMetricFamily(
            "ostraka_revocation_list_number",
            "Number of the revocation list in force; 0: none was ever given.",
            value=own.revocations.number,
        )

    return state


def _build(site: SiteConfig) -> dict[str, str]:
    return {
        "version": version("ostraka"),
        "protocol": str(PROTOCOL_VERSION),
        "federation": site.federation,
        "site": site.site,
        "role": site.role,
    }


def _disk(folder: Path) -> Iterator[Metric]:
    try:
        disk = shutil.disk_usage(folder)
    except OSError:
        return
    yield GaugeMetricFamily("ostraka_disk_bytes", "Size of the disk of the site folder.", value=disk.total)
    yield GaugeMetricFamily("ostraka_disk_free_bytes", "What is free of it.", value=disk.free)


def _expires(pem: bytes) -> float:
    return x509.load_pem_x509_certificate(pem).not_valid_after_utc.astimezone(UTC).timestamp()
