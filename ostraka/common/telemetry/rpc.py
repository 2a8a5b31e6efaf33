"""Metrics of the calls that a server answers."""

from functools import cache

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from ostraka.common.telemetry.call_metrics import SIZED
from ostraka.common.telemetry.registry import SECONDS


class RpcMetrics:
    """Calls by method and code, with seconds, bytes, calls in progress, and connections in their handshake.

    Only methods of the server's services and codes of the catalogue are labels, so the number of labels is
    bounded, whoever calls. Bytes are those of messages, without what gRPC and TLS add; replies are counted
    only if the plan gives their size.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        calls = Counter(
            "ostraka_rpc_calls", "Calls answered, by code; ok: served.", ["method", "code"], registry=registry
        )
        seconds = Histogram(
            "ostraka_rpc_seconds", "Time to answer.", ["method"], buckets=SECONDS, registry=registry
        )
        size = Counter("ostraka_rpc_bytes", "Bytes of messages.", ["method", "direction"], registry=registry)
        under_way = Gauge("ostraka_rpc_under_way", "Calls being answered.", ["method"], registry=registry)
        self._handshakes = Gauge(
            "ostraka_rpc_handshakes", "Connections that have not said who they are yet.", registry=registry
        )
        # Finding the metric of some labels takes a lock, so each is found once instead of at every call.
        self._calls = cache(calls.labels)
        self._seconds = cache(seconds.labels)
        self._bytes = cache(size.labels)
        self._under_way = cache(under_way.labels)

    def begin(self, method: str) -> None:
        """Note that a call of `method` (Service/Method) begins."""
        self._under_way(method).inc()

    def end(self, method: str, code: str, seconds: float, received: int, sent: int) -> None:
        """Note that a call was answered with `code`: "ok" or an error's code."""
        self._under_way(method).dec()
        self._calls(method, code).inc()
        self._seconds(method).observe(seconds)
        self._bytes(method, "in").inc(received)
        if method in SIZED:
            self._bytes(method, "out").inc(sent)

    def set_handshakes(self, connections: int) -> None:
        """Note how many connections have not finished their handshake."""
        self._handshakes.set(connections)
