"""Metrics of a process: one registry that its code fills and Prometheus reads over plain HTTP.

Metrics show public plans, worst-case amounts and public timings alone. Nothing that depends on a vote is
counted: no answers, no sizes of answers, no data-dependent cost.
"""

import errno
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import structlog
from prometheus_client import CollectorRegistry, ProcessCollector, start_http_server
from prometheus_client.core import Metric

from ostraka.common.config import Address, load_section, split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.validation import FrozenModel

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Upper bounds of the buckets of every histogram of seconds."""
FRESH_S = 5.0
"""For how long what was read for one scrape serves others."""

T = TypeVar("T")


class TelemetrySection(FrozenModel):
    """The table [telemetry] of site.toml."""

    metrics: Address | None = None
    """Address at which metrics are served to Prometheus, host:port. None: no metrics are served."""


def new_registry() -> CollectorRegistry:
    """Return a registry that covers this process (CPU seconds, memory, open files) and nothing else yet."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    return registry


@contextmanager
def serving_metrics(folder: Path, registry: CollectorRegistry | None = None) -> Iterator[CollectorRegistry]:
    """Within the block the metrics of the registry, a new one by default, are at `/metrics`.

    They are served where `metrics` in the table [telemetry] of `folder`'s site.toml says; nowhere without it.

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
        server, thread = start_http_server(port, host, registry)
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
    """What a scrape reads, read again when it is `FRESH_S` old; a failure reads as None, and never raises."""

    def __init__(self, read: Callable[[], T], timer: Callable[[], float] = time.monotonic) -> None:
        self._read = read
        self._timer = timer
        # Guards value and time, also while it is read: the second of two scrapes takes what the first read.
        self._lock = threading.Lock()
        self._at: float | None = None
        self._value: T | None = None

    def value(self) -> T | None:
        """Return what was read, at most `FRESH_S` ago."""
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
    """A collector of metrics that are made anew for each scrape."""

    def __init__(self, make: Callable[[], Iterable[Metric]]) -> None:
        self._make = make

    def collect(self) -> Iterable[Metric]:
        """Return the metrics, as the registry asks for them."""
        return self._make()

    def describe(self) -> Iterable[Metric]:
        """Nothing before the first scrape."""
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
