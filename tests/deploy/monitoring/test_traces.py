"""One trace follows a batch through real servers of every role, and carries no payload."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from ostraka.common.telemetry.tracing import tracing
from tests.deploy.monitoring.observed import QUERIES, Observed
from tests.guardian.federation import PARTIES

ATTRIBUTES = {"session", "batch", "queries", "code", "received", "sent"}


@pytest.fixture(scope="module")
def spans(tmp_path_factory: pytest.TempPathFactory, agreeing: dict[str, Path]) -> list[ReadableSpan]:
    observed, exporter = Observed(tmp_path_factory.mktemp("traced")), InMemorySpanExporter()
    with tracing("test", "all", exporter), observed.serving(agreeing) as (_, registries):
        observed.label(registries)
    return list(exporter.get_finished_spans())


def test_a_batch_is_one_trace_across_all_roles(spans: list[ReadableSpan]) -> None:
    batches = [span for span in spans if span.name == "batch"]
    assert len(batches) == 2
    for batch in batches:
        of_it = [span for span in spans if span.context.trace_id == batch.context.trace_id]
        served = sorted(span.name for span in of_it if span.kind is SpanKind.SERVER)
        called = sorted(span.name for span in of_it if span.kind is SpanKind.CLIENT)
        assert served == called
        assert served.count("Guardian/OpenBatch") == served.count("Guardian/ReleaseWhole") == 1
        assert served.count("Party/Vote") == served.count("Guardian/SubmitBallotsWhole") == len(PARTIES)
        within = [span.name for span in of_it if span.kind is SpanKind.INTERNAL]
        assert {"guardian.ticket", "party.vote", "device.predict", "party.submit"} <= set(within)
        ids = {(span.attributes or {}).get("ostraka.session") for span in of_it} - {None}
        assert len(ids) == 1


def test_spans_carry_ids_codes_and_sizes_alone(spans: list[ReadableSpan]) -> None:
    for span in spans:
        attributes = span.attributes or {}
        assert {key.removeprefix("ostraka.") for key in attributes} <= ATTRIBUTES
        assert all(isinstance(value, int | str) and len(str(value)) <= 64 for value in attributes.values())
        assert not span.events
        if span.name == "Guardian/ReleaseWhole":
            assert "ostraka.sent" not in attributes
        if span.name == "batch":
            assert attributes["ostraka.queries"] == QUERIES // 2
