"""Measurement, tracing and logging of every call: of those received, and those made to servers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import grpc
import structlog
from google.protobuf.message import Message

from ostraka.common.rpc.handlers import Handler, behaviour_of, maker_of
from ostraka.common.rpc.status import refusal_code
from ostraka.common.telemetry.call_metrics import SIZED, ids_of, metric_name
from ostraka.common.telemetry.tracing import span

if TYPE_CHECKING:
    from ostraka.common.telemetry.rpc import RpcMetrics
from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.status import from_call
from ostraka.common.rpc.watcher import with_metadata
from ostraka.common.telemetry.tracing import begin_span, end_span, is_traced, trace_metadata

OK = "ok"


class Metered(grpc.ServerInterceptor):
    """First interceptor of a server, so that calls that later interceptors refuse are measured too."""

    def __init__(self, metrics: RpcMetrics | None, timer: Callable[[], float] = time.perf_counter) -> None:
        """Take the metrics; `timer` is in seconds."""
        self._metrics = metrics
        self._timer = timer
        # As in the Gate: the wrapper of a method's handler is made once.
        self._wrapped = cache(self._wrap)

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Handler | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Wrap the call's handler."""
        handler = continuation(handler_call_details)
        return None if handler is None else self._wrapped(handler, handler_call_details.method)

    def _wrap(self, handler: Handler, path: str) -> Handler:
        method = metric_name(path)
        behaviour = behaviour_of(handler)

        def answer(request: Any, context: grpc.ServicerContext) -> Any:
            with self._call(method, context) as call:
                return call.count_sent(behaviour(call.read(request), context))

        def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
            with self._call(method, context) as call:
                yield from map(call.count_sent, behaviour(call.read(request), context))

        return maker_of(handler)(
            stream if handler.response_streaming else answer,
            request_deserializer=handler.request_deserializer,
            response_serializer=handler.response_serializer,
        )

    @contextmanager
    def _call(self, method: str | None, context: grpc.ServicerContext) -> Iterator[_Call]:
        """One call, from its first message to its last; unmeasured methods only keep their ids, for logs."""
        structlog.contextvars.clear_contextvars()
        try:
            if method is None:
                yield _Call(_ignore)
            else:
                with span(method, "server", context.invocation_metadata()) as note:
                    yield from self._measure(method, _Call(note), context)
        finally:
            structlog.contextvars.clear_contextvars()

    def _measure(self, method: str, call: _Call, context: grpc.ServicerContext) -> Iterator[_Call]:
        began = self._timer()
        code = OK
        if self._metrics:
            self._metrics.begin(method)
        try:
            yield call
        except BaseException:
            code = _refusal(context)
            raise
        finally:
            call.note(code=code, received=call.bytes_in)
            if method in SIZED:
                call.note(sent=call.bytes_out)
            if self._metrics:
                self._metrics.end(method, code, self._timer() - began, call.bytes_in, call.bytes_out)


@dataclass
class _Call:
    """The observer of a call, in the thread that answers it; `note` takes attributes of its span."""

    note: Callable[..., None]
    bytes_in: int = 0
    bytes_out: int = 0

    def read(self, request: Any) -> Any:
        """Return the request, or the stream of requests, observed as it is read."""
        return map(self._came, request) if isinstance(request, Iterator) else self._came(request)

    def count_sent(self, reply: Any) -> Any:
        """Count the bytes of a reply on its way out, and return it."""
        self.bytes_out += reply.ByteSize() if isinstance(reply, Message) else 0
        return reply

    def _came(self, message: Any) -> Any:
        self.bytes_in += message.ByteSize() if isinstance(message, Message) else 0
        ids = ids_of(message)
        if ids:
            structlog.contextvars.bind_contextvars(**ids)
            self.note(**ids)
        return message


def _refusal(context: Any) -> str:
    """Return the code with which a call was refused, as its caller reads it; "cancelled" if nobody waits."""
    code = refusal_code(context)
    if code is not None:
        return str(code)
    return "internal" if context.is_active() else "cancelled"


def _ignore(**_: Any) -> None:
    """Ignore attributes if there is no span."""


class Traced(
    grpc.UnaryUnaryClientInterceptor,
    grpc.UnaryStreamClientInterceptor,
    grpc.StreamUnaryClientInterceptor,
    grpc.StreamStreamClientInterceptor,
):
    """Begins a span with every call and ends it with its outcome; only for traced processes."""

    def _call(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
        method = metric_name(details.method)
        if method is None:
            return continuation(details, request)
        span = begin_span(method, "client")
        call = continuation(with_metadata(details, trace_metadata(span)), request)
        call.add_done_callback(lambda done: end_span(span, _code(done)))
        return call

    intercept_unary_unary: Any = _call
    intercept_unary_stream: Any = _call
    intercept_stream_unary: Any = _call
    intercept_stream_stream: Any = _call


@contextmanager
def calling(method: str) -> Iterator[tuple[tuple[str, str], ...]]:
    """Keep a span open over a call that no interceptor sees, and yield the metadata that carries it."""
    if not is_traced():
        yield ()
        return
    span = begin_span(metric_name(method) or method, "client")
    try:
        yield trace_metadata(span)
    except BaseException as error:
        end_span(span, _code(error) if isinstance(error, ENDED) else type(error).__name__)
        raise
    end_span(span, "ok")


def _code(call: Any) -> str:
    if call.code() is grpc.StatusCode.OK:
        return "ok"
    told = from_call(call)
    return call.code().name.lower() if told is None else str(told.code)
