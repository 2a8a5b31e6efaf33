"""The lowest TLS version that gRPC accepts; gRPC reads it from the environment once, when it is imported.

TLS 1.3 between two processes of Ostraka uses the key exchange X25519MLKEM768, so that even a quantum computer
is not enough to read recorded traffic. gRPC has no setting in Python that refuses TLS 1.2. It has a setting
for the cipher suites up to 1.2; if none of those suites can be used, only 1.3 is left.
"""

import os
import sys

from ostraka.common.errors import ErrorCode, OstrakaError

VARIABLE = "OSTRAKA_TLS_MINIMUM"
"""Environment variable of a process: 1.3, which is the default, or 1.2 for peers without 1.3."""
TLS_1_2 = "1.2"
TLS_1_3 = "1.3"
SUITES = "GRPC_SSL_CIPHER_SUITES"
"""gRPC's environment variable for the suites up to TLS 1.2; those of 1.3 are always on."""
NO_SUITE = "PSK-AES128-CBC-SHA"
"""A suite for keys shared in advance, which gRPC's connections never have, so no handshake can use it."""

_GRPC_CAME_FIRST = "grpc" in sys.modules and os.environ.get(SUITES) != NO_SUITE


def set_tls_minimum() -> None:
    """Write the lowest version into the environment, for gRPC imported later and for child processes."""
    if tls_minimum() == TLS_1_2:
        # A parent process that accepts only 1.3 wrote the variable for itself.
        if os.environ.get(SUITES) == NO_SUITE:
            del os.environ[SUITES]
    else:
        os.environ[SUITES] = NO_SUITE


def tls_minimum() -> str:
    """Return the lowest version to accept, as written in the environment."""
    return os.environ.get(VARIABLE, TLS_1_3)


def check_tls_minimum() -> None:
    """Raise config.invalid if the lowest version is not a known one, or gRPC accepts an older one."""
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
