"""Calls made to servers, as spans whose trace the server goes on with."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc

from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.status import from_call
from ostraka.common.rpc.watcher import with_metadata
from ostraka.common.telemetry.call_metrics import told_name
from ostraka.common.telemetry.tracing import begin_span, carried, end_span, traced


class Traced(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Begins a span with every call and ends it with its outcome; only for processes that are traced."""

    def _call(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        method = told_name(details.method)
        if method is None:
            return continuation(details, request)
        span = begin_span(method, "client")
        call = continuation(with_metadata(details, carried(span)), request)
        call.add_done_callback(lambda done: end_span(span, _code(done)))
        return call

    intercept_unary_unary: Any = _call
    intercept_unary_stream: Any = _call
    intercept_stream_unary: Any = _call
    intercept_stream_stream: Any = _call


@contextmanager
def calling(method: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """Hold a span over a call that no interceptor sees, and yield the metadata that carries it."""
    if not traced():
        yield ()
        return
    span = begin_span(told_name(method) or method, "client")
    try:
        yield carried(span)
    except BaseException as error:
        end_span(span, _code(error) if isinstance(error, ENDED) else type(error).__name__)
        raise
    end_span(span, "ok")


def _code(call: Any) -> str:
    if call.code() is grpc.StatusCode.OK:
        return "ok"
    told = from_call(call)
    return call.code().name.lower() if told is None else str(told.code)
