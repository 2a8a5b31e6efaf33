"""The least version of TLS that gRPC speaks, which it reads from its environment once, when it is imported.

TLS 1.3 between two processes of Ostraka is keyed by X25519MLKEM768, so that who records it needs more than a
quantum computer to read it. gRPC has no setting for Python by which 1.2 is refused. It has one for the cipher
suites up to 1.2, and where none of them can be used, 1.3 alone is left.
"""

import os
import sys

from ostraka.common.errors import ErrorCode, OstrakaError

VARIABLE = "OSTRAKA_TLS_MINIMUM"
"""Environment variable of a process: 1.3, as where it is not set, or 1.2 for peers that know no better."""
TLS_1_2 = "1.2"
TLS_1_3 = "1.3"
SUITES = "GRPC_SSL_CIPHER_SUITES"
"""gRPC's environment variable for the suites up to TLS 1.2; those of 1.3 are always offered and taken."""
NO_SUITE = "PSK-AES128-CBC-SHA"
"""A suite for those who share a key in advance, as none of gRPC's connections do: no handshake ends by it."""

_GRPC_CAME_FIRST = "grpc" in sys.modules and os.environ.get(SUITES) != NO_SUITE


def set_tls_minimum() -> None:
    """Write the least version into the environment, for gRPC imported later and for child processes."""
    if tls_minimum() == TLS_1_2:
        # A parent that takes 1.3 alone wrote it for itself.
        if os.environ.get(SUITES) == NO_SUITE:
            del os.environ[SUITES]
    else:
        os.environ[SUITES] = NO_SUITE


def tls_minimum() -> str:
    """Return the least version that is to be taken, as it was written."""
    return os.environ.get(VARIABLE, TLS_1_3)


def check_tls_minimum() -> None:
    """Raise config.invalid where the least version is none that can be had, or gRPC takes an older one."""
    least = tls_minimum()
    if least not in (TLS_1_2, TLS_1_3):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{VARIABLE} is {least!r}; write {TLS_1_3} or {TLS_1_2}."
        )
    if least == TLS_1_3 and _GRPC_CAME_FIRST:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "This program imported grpc before ostraka, so that connections by TLS 1.2 would be taken; import"
            f" ostraka first, or set {VARIABLE}={TLS_1_2} to take them.",
        )
