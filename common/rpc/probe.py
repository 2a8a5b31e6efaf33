"""Why a server cannot be reached: a TLS handshake of our own, because gRPC says UNAVAILABLE to everything."""

import socket
import ssl

from common.config import split_address
from common.errors import ErrorCode, OstrakaError
from common.identity.credentials import TLS_CERT, TLS_KEY
from common.rpc.watcher import Target

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
REFUSED = {
    ErrorCode.IDENTITY_EXPIRED: "says that this site's certificate has expired; have the federation's CA"
    " issue a new one, or correct the clocks.",
    ErrorCode.IDENTITY_FOREIGN: "does not accept this site's certificate; check that both sites have the"
    " same ca.crt.",
}


def diagnose(target: Target) -> OstrakaError:
    """Connect to a target that gRPC could not call, and say what stands in the way.

    Returns:
        identity.* for a certificate that either side refuses, else server.unreachable.
    """
    try:
        with socket.create_connection(split_address(target.address), TIMEOUT_S) as connection:
            return _handshake(connection, target) or _unreachable(target, "breaks off calls")
    except ConnectionRefusedError:
        return _unreachable(target, "does not listen")
    except OSError:
        return _unreachable(target, "does not answer")


def _handshake(connection: socket.socket, target: Target) -> OstrakaError | None:
    if target.credentials is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=target.credentials.ca_pem.decode("ascii"))
    folder = target.credentials.folder
    context.load_cert_chain(folder / TLS_CERT, folder / TLS_KEY)
    context.set_alpn_protocols(["h2"])
    try:
        with context.wrap_socket(connection, server_hostname=target.expected.server_name) as tls:
            tls.recv(1)
    except ssl.SSLCertVerificationError as error:
        code = OF_VERIFY_CODE.get(error.verify_code, ErrorCode.IDENTITY_FOREIGN)
        return _error(code, target, WORDS[code])
    except ssl.SSLError as error:
        reason = error.reason or ""
        if "ALERT" not in reason:
            return None
        code = ErrorCode.IDENTITY_EXPIRED if "EXPIRED" in reason else ErrorCode.IDENTITY_FOREIGN
        return _error(code, target, REFUSED[code])
    return None


def _unreachable(target: Target, problem: str) -> OstrakaError:
    return _error(
        ErrorCode.SERVER_UNREACHABLE, target, f"{problem}; check that it runs and that the address is right."
    )


def _error(code: ErrorCode, target: Target, problem: str) -> OstrakaError:
    who = f"{target.expected.role} {target.expected.site}"
    return OstrakaError(code, f"The {who} at {target.address} {problem}", address=target.address)
