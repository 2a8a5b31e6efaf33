"""Translation of failed calls into errors."""

import grpc
import structlog

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.probe import diagnose
from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.status import Ended, from_call
from ostraka.common.rpc.watcher import Target, target_of


def call_error(exc: grpc.RpcError, target: Target | None = None) -> OstrakaError:
    """Return the error behind a failed call: what the server reported, or why it could not be reached.

    Args:
        exc: from a call on a channel of `open_channel`. Where the server could not be reached, its
            certificate is looked at once more, which may take some seconds.
        target: whom the call was made to, for a channel of `open_async_channel`.

    Returns:
        The server's own code, sentence and details; identity.*, server.unreachable or server.timeout where
        no answer came; internal for what Ostraka's servers never say.
    """
    if not isinstance(exc, ENDED):
        return OstrakaError(ErrorCode.INTERNAL, "A call failed without a status; try again.")
    return from_call(exc) or _without_details(exc, target or target_of(exc))


def failure_of(error: Exception, who: str) -> OstrakaError:
    """Return an error met while one server was asked as that server's failure, whatever it is.

    What is no OstrakaError is a fault of this side, which one server's answer may bring about, and which must
    not end what others are asked: its place is in the log at debug level.

    Args:
        error: as it was raised.
        who: was asked, like "party alpha".
    """
    if isinstance(error, OstrakaError):
        return error
    structlog.get_logger().debug("asking.failed", who=who, exc_info=error)
    return OstrakaError(
        ErrorCode.INTERNAL,
        f"Asking {who} ended with an error of this side, {type(error).__name__}, which counts as a failure of"
        f" {who}; report it with what the log says at debug level.",
    )


def _without_details(exc: Ended, target: Target | None) -> OstrakaError:
    status = exc.code()
    who = f"{target.expected.role} {target.expected.site} at {target.address}" if target else "server"
    if status is grpc.StatusCode.UNAVAILABLE:
        if target is not None:
            return diagnose(target)
        return OstrakaError(ErrorCode.SERVER_UNREACHABLE, "The server cannot be reached; check that it runs.")
    if status is grpc.StatusCode.DEADLINE_EXCEEDED:
        return OstrakaError(
            ErrorCode.SERVER_TIMEOUT, f"The {who} did not answer in time; try again, or allow it longer."
        )
    if status is grpc.StatusCode.CANCELLED:
        return OstrakaError(
            ErrorCode.SERVER_UNREACHABLE, f"The {who} cut the call off; try again, and it says why."
        )
    if status is grpc.StatusCode.RESOURCE_EXHAUSTED:
        return OstrakaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"A message to or from the {who} is too large; ask for less at once."
        )
    if status is grpc.StatusCode.UNIMPLEMENTED:
        return OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"The {who} does not know this call; run the same version everywhere."
        )
    name = status.name if status else "no status"
    return OstrakaError(ErrorCode.INTERNAL, f"The {who} ended the call with {name}; try again.")
