"""Work that is done in parts beside other work of one thread: each keeps its own logs and spans."""

import pytest
import structlog
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.telemetry.context import Scope, about
from ostraka.common.telemetry.tracing import span, tracing


def batch_of_logs() -> object:
    return structlog.contextvars.get_contextvars().get("batch")


def refuse() -> None:
    raise OstrakaError(ErrorCode.BATCH_DEAD, "Ask again.")


def work(name: str) -> None:
    with span(name):
        pass


def test_what_is_open_at_a_time_is_told_apart() -> None:
    exporter = InMemorySpanExporter()
    with tracing("query", "q", exporter):
        first, second = Scope(about("s", 1), span("first")), Scope(about("s", 2), span("second"))
        for scope, name in ((first, "a"), (second, "b"), (first, "c")):
            scope.run(work, name)
        assert [first.run(batch_of_logs), second.run(batch_of_logs), batch_of_logs()] == [1, 2, None]
        first.close()
        first.close()
        second.close()
    found = {one.name: one for one in exporter.get_finished_spans()}
    parents = {name: one.parent.span_id for name, one in found.items() if one.parent is not None}
    ids = {name: found[name].context.span_id for name in ("first", "second")}
    assert parents == {"a": ids["first"], "b": ids["second"], "c": ids["first"]}


def test_what_raises_ends_the_scope_and_is_noted_on_its_span() -> None:
    exporter = InMemorySpanExporter()
    with tracing("query", "q", exporter):
        scope = Scope(about("s", 1), span("batch"))
        with pytest.raises(OstrakaError, match="Ask again"):
            scope.run(refuse)
        scope.close()
        assert scope.run(batch_of_logs) is None
    (found,) = exporter.get_finished_spans()
    assert not found.status.is_ok
