"""Metrics of a process: one registry, which Prometheus reads over plain HTTP.

Metrics show only public plans, worst-case amounts and public timings. Nothing that depends on a vote is
counted: no answers, no sizes of answers, no costs that depend on data.
"""

import errno
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.core import Metric

from ostraka.common.config import Address, load_section, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.scraping import start_scraping
from ostraka.common.validation import FrozenModel

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Upper bounds of the buckets of every histogram of seconds."""
FRESH_S = 5.0
"""Seconds for which values read for one scrape are used for others."""

T = TypeVar("T")


class TelemetrySection(FrozenModel):
    """The table [telemetry] of site.toml."""

    metrics: Address | None = None
    """Address at which metrics are served to Prometheus, host:port. None: no metrics are served."""


def new_registry() -> CollectorRegistry:
    """Return a registry that so far only covers this process (CPU seconds, memory, open files)."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


@contextmanager
def serving_metrics(folder: Path, registry: CollectorRegistry | None = None) -> Iterator[CollectorRegistry]:
    """Serve the metrics of the registry, a new one by default, at `/metrics` within the block.

    The address is `metrics` in the table [telemetry] of `folder`'s site.toml; without it nothing is served.

    Raises:
        OstrakaError: `config.invalid`, `server.port_in_use`.
    """
    where = load_section(folder, "telemetry", TelemetrySection).metrics
    registry = new_registry() if registry is None else registry
    if where is None:
        yield registry
        return
    host, port = split_address(where)
    try:
        server, thread = start_scraping(host, port, registry)
    except OSError as error:
        raise _refusal(where, error) from error
    structlog.get_logger().info("metrics.serving", address=f"{host}:{server.server_port}")
    try:
        yield registry
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Fresh(Generic[T]):
    """A value for scrapes, read again when it is `FRESH_S` old; None after a failure; never raises."""

    def __init__(self, read: Callable[[], T], timer: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._timer = timer
        # Guards value and time, also during a read: the second of two scrapes takes what the first one read.
        self._lock = threading.Lock()
        self._at: float | None = None
        self._value: T | None = None

    def value(self) -> T | None:
        """Return the value, read at most `FRESH_S` ago."""
        with self._lock:
            if self._at is None or self._timer() - self._at >= FRESH_S:
                try:
                    self._value = self._read()
                except Exception as exc:
                    code = exc.code if isinstance(exc, OstrakaError) else type(exc).__name__
                    structlog.get_logger().warning("metrics.unread", code=code)
                    self._value = None
                self._at = self._timer()
            return self._value


class Scraped:
    """A collector whose metrics are made for each scrape."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        """Return the metrics when the registry asks for them."""
        return self._make()

    def describe(self) -> Iterable[Metric]:
        """Return nothing before the first scrape."""
        return ()


def _refusal(where: str, error: OSError) -> OstrakaError:
    if error.errno == errno.EADDRINUSE:
        return OstrakaError(
            ErrorCode.SERVER_PORT_IN_USE,
            f"Something already listens at {where}; stop it, or change `metrics` in site.toml's [telemetry].",
        )
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Cannot serve metrics at {where}: {error.strerror}; correct `metrics` in site.toml's [telemetry].",
    )
