"""The one place where calls are admitted and errors become statuses."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn, cast

import grpc
import structlog
from pydantic import ValidationError

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_full, storage_full
from ostraka.common.identity import Role
from ostraka.common.rpc.calls import Calls
from ostraka.common.rpc.expiry import Reminder
from ostraka.common.rpc.handlers import Handler, behaviour_of
from ostraka.common.rpc.health import PROMPT
from ostraka.common.rpc.limits import CallLimits, Places, Waits
from ostraka.common.rpc.peers import check_peer
from ostraka.common.rpc.received import admit, limit_requests
from ostraka.common.rpc.status import to_status
from ostraka.common.validation import PYDANTICS, place_text


class Gate(grpc.ServerInterceptor):
    """Checks every caller's federation, role and certificate, and the size of its messages.

    Every error is reported with a stable code.
    """

    def __init__(
        self,
        roles: Mapping[str, frozenset[Role]],
        federation: str | None,
        limits: CallLimits,
        calls: Calls | None = None,
        reminder: Reminder | None = None,
    ) -> None:
        """Admit callers by `roles` (full method name to roles) and `federation`; None admits any federation.

        `limits` bounds the resources of one site. `calls` refuses revoked callers and ends their calls;
        `reminder` warns of this server's own certificates when calls come in. A server without certificates
        has neither.
        """
        self._roles = roles
        self._federation = federation
        self._waits = Waits(limits)
        self._places = Places(limits)
        self._prompt = Places(limits)
        self._calls = calls
        self._reminder = reminder
        # A server has one handler for each method; its wrapper is made once, not for every call.
        self._wrapped = cache(self._wrap)

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], "Handler | None"],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Wrap the call's handler in one that takes a stream, even if only one message comes.

        gRPC keeps a thread waiting for a single message before any handler runs. Here the caller is known,
        and its calls are counted, before anything waits.
        """
        handler = continuation(handler_call_details)
        return None if handler is None else self._wrapped(handler, handler_call_details.method)

    def _wrap(self, handler: Handler, method: str) -> Handler:
        inner = behaviour_of(handler)
        read: Callable[[Iterator[Any]], Any] = iter if handler.request_streaming else _only

        def answer(requests: Iterator[Any], context: grpc.ServicerContext) -> Any:
            try:
                with self._enter(context, method) as site:
                    return inner(read(admit(self._waits.messages(requests, context, site))), context)
            except Exception as error:
                _abort(context, error)

        def stream(requests: Iterator[Any], context: grpc.ServicerContext) -> Iterator[Any]:
            try:
                with self._enter(context, method) as site:
                    messages = admit(self._waits.messages(requests, context, site))
                    yield from inner(read(messages), context)
            except Exception as error:
                _abort(context, error)

        deserialize = limit_requests(method, handler.request_deserializer)
        if handler.response_streaming:
            return grpc.stream_stream_rpc_method_handler(stream, deserialize, handler.response_serializer)
        return grpc.stream_unary_rpc_method_handler(answer, deserialize, handler.response_serializer)

    @contextmanager
    def _enter(self, context: grpc.ServicerContext, method: str) -> Iterator[str]:
        """Admit a call and count it within the block; yield the caller's site."""
        if self._reminder is not None:
            self._reminder.remind()
        if self._calls is not None:
            self._calls.admit(context)
        site = check_peer(context, method, self._roles, self._federation).site
        with (self._prompt if method in PROMPT else self._places).place(site):
            yield site


def _only(messages: Iterator[Any]) -> Any:
    """Return the message of a call with exactly one."""
    for message in messages:
        return message
    raise OstrakaError(ErrorCode.MESSAGE_INVALID, "The call ended before its message came; send it again.")


def _abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """End a call with an error; gRPC logs exceptions from a handler, except that a caller hung up."""
    hung_up = isinstance(error, grpc.RpcError) and not context.is_active()
    if hung_up or cast(Any, context).code() is not None:
        raise error
    context.abort_with_status(to_status(_public(error)))


def _public(error: Exception) -> OstrakaError:
    """Return what the caller may know of an error."""
    if isinstance(error, OstrakaError):
        return error
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        where = place_text(first)
        # Without the value: it may be one of this server's own.
        problem = (
            first["msg"].removeprefix("Value error, ") if first["type"] not in PYDANTICS else "cannot be"
        )
        problem = f"{where}: {problem}" if where else problem
        return OstrakaError(ErrorCode.MESSAGE_INVALID, f"The message is invalid ({problem}); correct it.")
    if is_full(error):
        structlog.get_logger().error("storage.full", problem=type(error).__name__)
        return storage_full("this server")
    frames = error.__traceback__
    while frames is not None and frames.tb_next is not None:
        frames = frames.tb_next
    where = "" if frames is None else f"{frames.tb_frame.f_code.co_filename}:{frames.tb_lineno}"
    structlog.get_logger().error("rpc.internal", error=type(error).__name__, where=where)
    return OstrakaError(
        ErrorCode.INTERNAL,
        "The server had an internal error; try again, and if the error stays, ask the server's operator.",
    )
