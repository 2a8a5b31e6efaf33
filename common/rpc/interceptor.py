"""The one place where calls are admitted and errors become statuses."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn, cast

import grpc
import structlog
from pydantic import ValidationError

from common.errors import ErrorCode, OstrakaError
from common.identity import Role
from common.rpc.calls import Calls
from common.rpc.expiry import Reminder
from common.rpc.handlers import Handler, behaviour_of, maker_of
from common.rpc.peers import check_peer
from common.rpc.status import to_status
from common.storage import is_full, storage_full


class Gate(grpc.ServerInterceptor):
    """Checks every caller's federation, role and certificate, and reports every error with a stable code."""

    def __init__(
        self,
        roles: Mapping[str, frozenset[Role]],
        federation: str | None,
        calls: Calls | None = None,
        reminder: Reminder | None = None,
    ) -> None:
        """Admit by `roles` (full method name to roles) and `federation`; None admits every federation.

        `calls` refuses revoked callers and cuts their calls; `reminder` warns of own certificates while calls
        come in. A server without certificates has neither.
        """
        self._roles = roles
        self._federation = federation
        self._calls = calls
        self._reminder = reminder

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], "Handler | None"],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "Handler | None":
        """Wrap the call's handler."""
        handler = continuation(handler_call_details)
        method = handler_call_details.method
        return None if handler is None else _wrapped(handler, lambda context: self._check(context, method))

    def _check(self, context: grpc.ServicerContext, method: str) -> None:
        if self._reminder is not None:
            self._reminder.remind()
        if self._calls is not None:
            self._calls.admit(context)
        check_peer(context, method, self._roles, self._federation)


def _wrapped(handler: Handler, check: Callable[[grpc.ServicerContext], None]) -> Handler:
    inner = behaviour_of(handler)

    def answer(request: Any, context: grpc.ServicerContext) -> Any:
        try:
            check(context)
            return inner(request, context)
        except Exception as error:
            _abort(context, error)

    def stream(request: Any, context: grpc.ServicerContext) -> Iterator[Any]:
        try:
            check(context)
            yield from inner(request, context)
        except Exception as error:
            _abort(context, error)

    return maker_of(handler)(
        stream if handler.response_streaming else answer,
        request_deserializer=handler.request_deserializer,
        response_serializer=handler.response_serializer,
    )


def _abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    if not context.is_active() or cast(Any, context).code() is not None:
        raise error
    context.abort_with_status(to_status(_public(error)))


def _public(error: Exception) -> OstrakaError:
    """What the caller may know of an error."""
    if isinstance(error, OstrakaError):
        return error
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_context=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        problem = f"{where}: {first['msg']}" if where else first["msg"]
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
        ErrorCode.INTERNAL, "The server met an error of its own; try again, and if it stays ask who runs it."
    )
