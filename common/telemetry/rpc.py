"""Metrics of the calls that a server takes."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ostraka.common.telemetry.call_metrics import SIZED
from ostraka.common.telemetry.registry import SECONDS


class RpcMetrics:
    """Calls by method and code, their seconds, bytes, and how many are under way.

    Methods are those of the server's services alone, and codes those of the catalogue, so that labels are
    bounded whoever calls. Bytes are of messages, without what gRPC and TLS add, and of replies only where
    the plan says their size.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        """Register the metrics."""
        self._calls = Counter(
            "ostraka_rpc_calls", "Calls answered, by code; ok: served.", ["method", "code"], registry=registry
        )
        self._seconds = Histogram(
            "ostraka_rpc_seconds", "Time to answer.", ["method"], buckets=SECONDS, registry=registry
        )
        self._bytes = Counter(
            "ostraka_rpc_bytes", "Bytes of messages.", ["method", "direction"], registry=registry
        )
        self._under_way = Gauge(
            "ostraka_rpc_under_way", "Calls being answered.", ["method"], registry=registry
        )

    def began(self, method: str) -> None:
        """Note that a call of `method` (Service/Method) begins."""
        self._under_way.labels(method).inc()

    def ended(self, method: str, code: str, seconds: float, received: int, sent: int) -> None:
        """Note that a call was answered with `code`, "ok" or an error's."""
        self._under_way.labels(method).dec()
        self._calls.labels(method, code).inc()
        self._seconds.labels(method).observe(seconds)
        self._bytes.labels(method, "in").inc(received)
        if method in SIZED:
            self._bytes.labels(method, "out").inc(sent)
