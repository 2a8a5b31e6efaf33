import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.context import carrying
from ostraka.common.telemetry.tracing import (
    ENDPOINT,
    begin_span,
    end_span,
    is_traced,
    span,
    trace_metadata,
    tracing,
)

Collected = list[ExportTraceServiceRequest]


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collected]:
    """Run an OTLP collector on loopback that the environment names."""
    came: Collected = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            came.append(ExportTraceServiceRequest.FromString(body))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    monkeypatch.setenv(ENDPOINT, f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
    yield came
    server.shutdown()
    server.server_close()
    thread.join()


def test_spans_reach_the_collector_that_the_environment_names(collector: Collected) -> None:
    with tracing("party", "alpha"), span("device.predict", queries=3):
        pass
    (batch,) = (resource for request in collector for resource in request.resource_spans)
    told = {one.key: one.value.string_value for one in batch.resource.attributes}
    assert (told["service.name"], told["service.instance.id"]) == ("ostraka-party", "alpha")
    (found,) = batch.scope_spans[0].spans
    assert found.name == "device.predict"
    assert {one.key: one.value.int_value for one in found.attributes} == {"ostraka.queries": 3}


def test_nothing_is_traced_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENDPOINT, raising=False)
    with tracing("party", "alpha"), span("device.predict") as note:
        note(queries=3)
        assert not is_traced()


def test_a_missing_library_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(OstrakaError, match=r"install ostraka\[otel\]") as refused, tracing("party", "alpha"):
        pass
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_an_error_is_noted_by_its_code_alone() -> None:
    exporter = InMemorySpanExporter()
    with tracing("party", "alpha", exporter):
        with pytest.raises(OstrakaError), span("vote"):
            raise OstrakaError(ErrorCode.DATA_NAN, "Row 3 is not a number.")
        with pytest.raises(ValueError, match="secret"), span("vote"):
            raise ValueError("secret vote")
    spans = exporter.get_finished_spans()
    assert [one.status.description for one in spans] == ["data.nan", "ValueError"]
    assert not any(one.events for one in spans)
    assert not any("secret" in one.to_json() for one in spans)


def test_a_trace_goes_on_in_other_threads_and_behind_other_calls() -> None:
    exporter = InMemorySpanExporter()

    def remote() -> None:
        call = begin_span("Party/Vote", "client")
        with span("Party/Vote", "server", trace_metadata(call)):
            pass
        end_span(call, "ok")

    with tracing("query", "q", exporter), span("batch"):
        thread = threading.Thread(target=carrying(remote))
        thread.start()
        thread.join()
    served, called, batch = exporter.get_finished_spans()
    assert served.parent is not None
    assert called.parent is not None
    assert served.parent.span_id == called.context.span_id
    assert called.parent.span_id == batch.context.span_id
