"""Translation of failed calls into errors; a TLS handshake finds out why a server is unreachable."""

import socket
import ssl

import grpc
import structlog

from ostraka.common.clock import SystemClock
from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.rpc.http_connect import END, MAX_ANSWER_BYTES, status_of
from ostraka.common.rpc.proxies import grpc_proxy, proxy_of
from ostraka.common.rpc.retry import ENDED
from ostraka.common.rpc.status import Ended, from_call
from ostraka.common.rpc.watcher import Target, target_of
from ostraka.common.tls_minimum import TLS_1_3, tls_minimum

TIMEOUT_S = 5.0
NOT_YET_VALID = 9  # X509_V_ERR_CERT_NOT_YET_VALID of OpenSSL's x509_vfy.h
EXPIRED = 10  # X509_V_ERR_CERT_HAS_EXPIRED
HOSTNAME_MISMATCH = 62  # X509_V_ERR_HOSTNAME_MISMATCH
OF_VERIFY_CODE = {
    NOT_YET_VALID: ErrorCode.IDENTITY_NOT_YET_VALID,
    EXPIRED: ErrorCode.IDENTITY_EXPIRED,
    HOSTNAME_MISMATCH: ErrorCode.IDENTITY_WRONG_SERVER,
}
WORDS = {
    ErrorCode.IDENTITY_EXPIRED: "shows a certificate that has expired; have the federation's CA issue it a"
    " new one, or correct this site's clock.",
    ErrorCode.IDENTITY_FOREIGN: "shows a certificate of another CA; check the address, and that both sites"
    " have the same ca.crt.",
    ErrorCode.IDENTITY_NOT_YET_VALID: "shows a certificate that begins later; correct this site's clock.",
    ErrorCode.IDENTITY_WRONG_SERVER: "is another site or role of the federation; correct the address.",
}
REFUSED = (
    "closes the connection when it sees this site's certificate; check that both sites have the same ca.crt"
    " and the right time."
)


DETACHED = (
    "is not attached to the relay there; look at its log, or have its operator run `ostraka site check`."
)
OUTDATED = (
    "knows no TLS 1.3, and TLS 1.2 is not taken; have it updated, or start this with OSTRAKA_TLS_MINIMUM=1.2."
)
UNRECOGNIZED_NAME = "UNRECOGNIZED_NAME"
"""Ending of OpenSSL's reason for the alert by which a relay says that no site of that name is attached."""
_RUNS = "check that it runs and that the address is right"


def diagnose(target: Target) -> OstrakaError:
    """Connect to a target that gRPC could not call, and return what prevents calls.

    A server that refuses a caller's certificate closes the connection without a message, so the caller's own
    certificate is checked here again: it may have expired since the channel was opened.

    Returns:
        identity.* for a certificate that either side refuses, server.tls_outdated for a server without TLS
            1.3,
        else server.unreachable.
    """
    try:
        if target.credentials is not None:
            target.credentials.check_valid(SystemClock())
        with _connect(target.address) as connection:
            if target.credentials is not None:
                _handshake(connection, target, target.credentials)
        return _unreachable(target, "breaks off calls")
    except OstrakaError as error:
        return error
    except ConnectionRefusedError:
        return _unreachable(target, "does not listen")
    except _RefusedByProxyError as refused:
        return _unreachable(target, f"is not reached: the proxy answers {refused.status}")
    except OSError:
        return _unreachable(target, "does not answer")


class _RefusedByProxyError(OSError):
    """A proxy refuses to connect, with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def _connect(address: str) -> socket.socket:
    """Connect as gRPC does, through the same proxy; raise OSError."""
    proxy = grpc_proxy(address)
    if proxy is None:
        return socket.create_connection(split_address(address), TIMEOUT_S)
    connection = socket.create_connection((proxy.host, proxy.port), TIMEOUT_S)
    try:
        connection.sendall(proxy.request(address))
        answer = b""
        while END not in answer and len(answer) < MAX_ANSWER_BYTES and (data := connection.recv(4096)):
            answer += data
        status = status_of(answer)
        if not 200 <= status < 300:
            raise _RefusedByProxyError(status)
    except BaseException:
        connection.close()
        raise
    return connection


def _handshake(connection: socket.socket, target: Target, credentials: Credentials) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=credentials.ca_pem.decode("ascii"))
    context.load_cert_chain(credentials.folder / TLS_CERT, credentials.folder / TLS_KEY)
    context.set_alpn_protocols(["h2"])
    try:
        tls = context.wrap_socket(connection, server_hostname=target.expected.server_name)
    except ssl.SSLCertVerificationError as error:
        code = OF_VERIFY_CODE.get(error.verify_code, ErrorCode.IDENTITY_FOREIGN)
        raise _error(code, target, WORDS[code]) from error
    except ssl.SSLError as error:
        if error.reason and error.reason.endswith(UNRECOGNIZED_NAME):
            raise _error(ErrorCode.PARTY_DETACHED, target, DETACHED) from error
        raise
    with tls:
        if tls.version() != "TLSv1.3" and tls_minimum() == TLS_1_3:
            raise _error(ErrorCode.SERVER_TLS_OUTDATED, target, OUTDATED)
        if not _greets(tls):
            raise _error(ErrorCode.IDENTITY_FOREIGN, target, REFUSED)


def _greets(tls: ssl.SSLSocket) -> bool:
    """Whether the server sends its HTTP/2 settings; it sends them only to callers it accepts."""
    try:
        return bool(tls.recv(1))
    except (ConnectionResetError, ssl.SSLError):
        return False


def _unreachable(target: Target, problem: str) -> OstrakaError:
    proxy = proxy_of(target.address)
    advice = f"check that {proxy}, or name the host in no_proxy" if proxy else _RUNS
    return _error(ErrorCode.SERVER_UNREACHABLE, target, f"{problem}; {advice}.")


def _error(code: ErrorCode, target: Target, problem: str) -> OstrakaError:
    who = f"{target.expected.role} {target.expected.site}"
    return OstrakaError(code, f"The {who} at {target.address} {problem}", address=target.address)


def call_error(exc: grpc.RpcError, target: Target | None = None) -> OstrakaError:
    """Return the error behind a failed call: what the server reported, or why it could not be reached.

    Args:
        exc: from a call on a channel of `open_channel`. If the server could not be reached, its certificate
            is examined once more, which may take some seconds.
        target: the server of the call, for a channel of `open_async_channel`.

    Returns:
        The server's own code, sentence and details; identity.*, server.unreachable or server.timeout if no
        answer came; internal for statuses that Ostraka's servers never send.
    """
    if not isinstance(exc, ENDED):
        return OstrakaError(ErrorCode.INTERNAL, "A call failed without a status; try again.")
    return from_call(exc) or _without_details(exc, target or target_of(exc))


def failure_of(error: Exception, who: str) -> OstrakaError:
    """Return an error that occurred while one server was asked as that server's failure, whatever it is.

    An error that is not an OstrakaError is a bug on this side. One server's answer may trigger it, and it
    must not stop the calls to others; its location is logged at debug level.

    Args:
        error: the error that was raised.
        who: the server that was asked, such as "party alpha".
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
            ErrorCode.SERVER_UNREACHABLE, f"The {who} cancelled the call; try again, and its answer says why."
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
