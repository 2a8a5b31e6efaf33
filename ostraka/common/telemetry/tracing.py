"""Traces across roles (OpenTelemetry), off unless OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

Spans carry ids, roles, methods, codes and sizes given by the plan; never payloads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span, Tracer

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
Kind = Literal["internal", "server", "client"]
Pairs = Sequence[tuple[str, str | bytes]]

_tracers: list[Tracer] = []
"""The tracer of this process while it is traced; otherwise empty."""


@contextmanager
def tracing(role: str, site: str, exporter: SpanExporter | None = None) -> Iterator[None]:
    """Send spans of this process to `exporter` within the block; by default to the environment's collector.

    This does nothing without either, or if the process is traced already.

    Raises:
        OstrakaError: `config.invalid` if a collector is named and the extra [otel] is missing.
    """
    if _tracers or (exporter is None and not os.environ.get(ENDPOINT)):
        yield
        return
    try:
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise _missing() from error
    provider = TracerProvider(
        resource=Resource.create({"service.name": f"ostraka-{role}", "service.instance.id": site}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter or _otlp()))
    _tracers.append(provider.get_tracer("ostraka"))
    try:
        yield
    finally:
        _tracers.clear()
        provider.shutdown()


def is_traced() -> bool:
    """Return whether spans of this process are sent anywhere."""
    return bool(_tracers)


@contextmanager
def span(
    name: str, kind: Kind = "internal", came: Pairs | None = None, **attributes: str | int
) -> Iterator[Callable[..., None]]:
    """Hold a span over the block; yield a function that sets attributes; note an error by its code or type.

    Args:
        name: name of the span.
        kind: "server" and "client" for the two sides of a call.
        came: metadata of the incoming call; the span continues the caller's trace.
        attributes: set under their key with "ostraka." before it.
    """
    if not _tracers:
        yield _ignore
        return
    from opentelemetry import trace

    begun = begin_span(name, kind, came)
    with trace.use_span(begun, end_on_exit=True, record_exception=False, set_status_on_exception=False):
        noted: dict[str, str | int] = {}

        def note(**more: str | int) -> None:
            noted.update(more)
            _note(begun, more)

        note(**attributes)
        try:
            yield note
        except BaseException as error:
            code = error.code if isinstance(error, OstrakaError) else type(error).__name__
            _fail(begun, str(noted.get("code", code)))
            raise


def begin_span(name: str, kind: Kind = "internal", came: Pairs | None = None) -> Span:
    """Begin a span that the caller ends; call it only while `is_traced`."""
    from opentelemetry import propagate, trace

    carrier = {key: value for key, value in came or () if isinstance(value, str)}
    context = propagate.extract(carrier) if carrier else None
    return _tracers[0].start_span(name, context, trace.SpanKind[kind.upper()])


def end_span(begun: Span, code: str, **attributes: str | int) -> None:
    """End a span with the code of its outcome."""
    _note(begun, attributes)
    if code == "ok":
        _note(begun, {"code": code})
    else:
        _fail(begun, code)
    begun.end()


def trace_metadata(begun: Span) -> tuple[tuple[str, str], ...]:
    """Return metadata (W3C trace context) with which the other side of a call continues a span's trace."""
    from opentelemetry import propagate, trace

    carrier: dict[str, str] = {}
    propagate.inject(carrier, trace.set_span_in_context(begun))
    return tuple(carrier.items())


def _note(begun: Span, attributes: Mapping[str, str | int]) -> None:
    for key, value in attributes.items():
        begun.set_attribute(f"ostraka.{key}", value)


def _fail(begun: Span, code: str) -> None:
    from opentelemetry.trace import Status, StatusCode

    begun.set_status(Status(StatusCode.ERROR, code))
    _note(begun, {"code": code})


def _ignore(**_: str | int) -> None:
    """Ignore attributes while nothing is traced."""


def _otlp() -> SpanExporter:
    """Return the exporter that the environment names; over HTTP unless it names gRPC."""
    kind = "grpc" if os.environ.get(PROTOCOL) == "grpc" else "http"
    try:
        module: Any = import_module(f"opentelemetry.exporter.otlp.proto.{kind}.trace_exporter")
    except ImportError as error:
        raise _missing() from error
    exporter: SpanExporter = module.OTLPSpanExporter()
    return exporter


def _missing() -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"{ENDPOINT} asks for traces, which need a library: install ostraka[otel], or unset the variable.",
    )
