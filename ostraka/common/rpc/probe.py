"""Diagnosis of unreachable servers by a TLS handshake, because gRPC reports UNAVAILABLE for every cause."""

import socket
import ssl

from ostraka.common.clock import SystemClock
from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import TLS_CERT, TLS_KEY
from ostraka.common.rpc.watcher import Target

TIMEOUT_S = 5.0
# X509_V_ERR_* of OpenSSL's x509_vfy.h.
NOT_YET_VALID, EXPIRED, HOSTNAME_MISMATCH = 9, 10, 62
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


def diagnose(target: Target) -> OstrakaError:
    """Connect to a target that gRPC could not call, and say what stands in the way.

    A server that refuses a caller's certificate closes the connection without a word, so the caller's own
    is checked here again: it may have expired since the channel was opened.

    Returns:
        identity.* for a certificate that either side refuses, else server.unreachable.
    """
    try:
        if target.credentials is not None:
            target.credentials.check_valid(SystemClock())
        with socket.create_connection(split_address(target.address), TIMEOUT_S) as connection:
            if target.credentials is not None:
                _handshake(connection, target, target.credentials)
        return _unreachable(target, "breaks off calls")
    except OstrakaError as error:
        return error
    except ConnectionRefusedError:
        return _unreachable(target, "does not listen")
    except OSError:
        return _unreachable(target, "does not answer")


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
    with tls:
        if not _greets(tls):
            raise _error(ErrorCode.IDENTITY_FOREIGN, target, REFUSED)


def _greets(tls: ssl.SSLSocket) -> bool:
    """Whether the server sends its HTTP/2 settings, which it does only to those it accepts."""
    try:
        return bool(tls.recv(1))
    except (ConnectionResetError, ssl.SSLError):
        return False


def _unreachable(target: Target, problem: str) -> OstrakaError:
    return _error(
        ErrorCode.SERVER_UNREACHABLE, target, f"{problem}; check that it runs and that the address is right."
    )


def _error(code: ErrorCode, target: Target, problem: str) -> OstrakaError:
    who = f"{target.expected.role} {target.expected.site}"
    return OstrakaError(code, f"The {who} at {target.address} {problem}", address=target.address)
