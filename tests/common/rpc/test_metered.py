"""What a server counts of its calls, and what its log lines name."""

from collections.abc import Iterator
from typing import Any

import grpc
import pytest
import structlog
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from prometheus_client import CollectorRegistry

from ostraka.common.clock import SystemClock
from ostraka.common.rpc import make_server, open_channel
from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.common.telemetry.tracing import tracing
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.protos.ostraka.v1 import guardian_pb2 as pb
from ostraka.protos.ostraka.v1 import guardian_pb2_grpc as stubs
from tests.common.federation import GUARDIAN, PARTY, QUERIER, Federation
from tests.common.rpc.conftest import ROLES, Guardian

SESSION = "5e55" * 8


class Named(Guardian):
    """Notes the ids that its log lines would name."""

    def __init__(self) -> None:
        self.ids: list[dict[str, Any]] = []

    def CloseSession(self, request: Any, context: Any) -> Any:  # noqa: N802
        self.ids.append(structlog.contextvars.get_contextvars())
        return super().CloseSession(request, context)

    def SubmitBallots(self, requests: Any, context: Any) -> Any:  # noqa: N802
        reply = super().SubmitBallots(requests, context)
        self.ids.append(structlog.contextvars.get_contextvars())
        return reply


class Served:
    def __init__(self, federation: Federation, address: str, registry: CollectorRegistry, ids: Any) -> None:
        self._federation, self._address, self._registry, self.ids = federation, address, registry, ids

    def call(self, make: Any, whose: Any = QUERIER) -> Any:
        """Return the outcome of a member's call, refusals as their status."""
        with open_channel(self._federation.issue(whose), self._address, GUARDIAN) as channel:
            try:
                return make(stubs.GuardianStub(channel))
            except grpc.RpcError as error:
                return error

    def value(self, name: str, **labels: str) -> float | None:
        return self._registry.get_sample_value(name, labels)


@pytest.fixture
def served(federation: Federation) -> Iterator[Served]:
    registry, service = CollectorRegistry(), Named()  # type: ignore[abstract, unused-ignore]
    bound = make_server(
        federation.issue(GUARDIAN),
        "127.0.0.1:0",
        [lambda server: stubs.add_GuardianServicer_to_server(service, server)],
        ROLES,
        SystemClock(),
        metrics=RpcMetrics(registry),
    )
    bound.server.start()
    yield Served(federation, bound.address, registry, service.ids)
    bound.server.stop(None).wait()


def test_calls_are_counted_with_their_bytes_and_seconds(served: Served) -> None:
    messages = [pb.SubmitBallotsRequest(chunk=common_pb2.Chunk(data=bytes([i]))) for i in range(3)]
    served.call(lambda stub: stub.SubmitBallots(iter(messages)), PARTY)
    method = "Guardian/SubmitBallots"
    assert served.value("ostraka_rpc_calls_total", method=method, code="ok") == 1
    assert served.value("ostraka_rpc_seconds_count", method=method) == 1
    size = sum(message.ByteSize() for message in messages)
    assert served.value("ostraka_rpc_bytes_total", method=method, direction="in") == size
    assert served.value("ostraka_rpc_bytes_total", method=method, direction="out") == 0
    assert served.value("ostraka_rpc_under_way", method=method) == 0


@pytest.mark.parametrize(
    ("make", "method", "code"),
    [
        (lambda stub: stub.Prepare(pb.PrepareRequest()), "Prepare", "quorum.lost"),
        (lambda stub: stub.SubmitBallots(iter(())), "SubmitBallots", "identity.wrong_role"),
        (lambda stub: stub.SettleBatch(pb.SettleBatchRequest()), "SettleBatch", "internal"),
        (lambda stub: list(stub.Release(iter([pb.ReleaseRequest()]))), "Release", "session.ended"),
    ],
)
def test_refusals_are_counted_by_code(served: Served, make: Any, method: str, code: str) -> None:
    served.call(make)
    assert served.value("ostraka_rpc_calls_total", method=f"Guardian/{method}", code=code) == 1
    assert served.value("ostraka_rpc_calls_total", method=f"Guardian/{method}", code="ok") is None


def test_both_sides_of_a_refused_call_trace_its_code(served: Served) -> None:
    exporter = InMemorySpanExporter()
    with tracing("guardian", "guardian", exporter):
        served.call(lambda stub: stub.Prepare(pb.PrepareRequest(session_id=SESSION, batch_id=7)))
    server, client = exporter.get_finished_spans()
    assert server.context.trace_id == client.context.trace_id
    assert [span.kind for span in (server, client)] == [SpanKind.SERVER, SpanKind.CLIENT]
    assert [span.status.description for span in (server, client)] == ["quorum.lost"] * 2
    assert server.attributes == {
        "ostraka.session": SESSION,
        "ostraka.batch": 7,
        "ostraka.code": "quorum.lost",
        "ostraka.received": pb.PrepareRequest(session_id=SESSION, batch_id=7).ByteSize(),
        "ostraka.sent": 0,
    }


def test_the_size_of_answers_is_not_counted(served: Served) -> None:
    served.call(lambda stub: list(stub.Release(iter([pb.ReleaseRequest()] * 3))))
    assert served.value("ostraka_rpc_bytes_total", method="Guardian/Release", direction="in") == 0
    assert served.value("ostraka_rpc_bytes_total", method="Guardian/Release", direction="out") is None


def test_log_lines_name_the_session_and_batch_of_their_call(served: Served) -> None:
    header = pb.BallotsHeader(session_id=SESSION, batch_id=7)
    served.call(lambda stub: stub.SubmitBallots(iter([pb.SubmitBallotsRequest(header=header)])), PARTY)
    served.call(lambda stub: stub.CloseSession(pb.CloseSessionRequest(session_id=SESSION)))
    served.call(lambda stub: stub.CloseSession(pb.CloseSessionRequest(session_id="no id\n")))
    assert served.ids == [{"session": SESSION, "batch": 7}, {"session": SESSION}, {}]
