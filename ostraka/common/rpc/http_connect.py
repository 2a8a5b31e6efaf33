"""HTTP CONNECT (RFC 9110): the request to a proxy for a connection, and the meaning of its answer."""

import base64
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError

MAX_ANSWER_BYTES = 16_384
"""Maximum size of a proxy's answer; headers and error page beyond it are not read."""
END = b"\r\n\r\n"
PROXY_PORT = 3128
"""Squid's port, for a proxy that is named without a port."""
ASKED_FOR_CREDENTIALS = 407
"""The status of a proxy that wants a user name and password (RFC 9110, 15.5.8)."""


@dataclass(frozen=True)
class HttpProxy:
    """A proxy, with the user name and password for it.

    Attributes:
        host: its name or address.
        port: its port.
        user: the user name; empty for none.
        password: that user's password.
    """

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)

    @property
    def address(self) -> str:
        """Return host:port, without its password."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def request(self, address: str) -> bytes:
        """Return the request to connect to `address`, host:port; a user adds Basic authentication."""
        lines = [f"CONNECT {address} HTTP/1.1", f"Host: {address}"]
        if self.user:
            pair = f"{self.user}:{self.password}".encode()
            lines.append(f"Proxy-Authorization: Basic {base64.b64encode(pair).decode('ascii')}")
        return "\r\n".join([*lines, "", ""]).encode()


def read_proxy(url: str, source: str) -> HttpProxy:
    """Read http://user:password@host:port, where the scheme, the user and the port may be missing.

    Raises:
        OstrakaError: config.invalid for any other URL; the message does not contain the password.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port or PROXY_PORT
        usable = parts.scheme == "http" and parts.hostname is not None
        host = parts.hostname or ""
        split_address(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except (ValueError, OstrakaError):
        usable = False
    if not usable:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{source} names no HTTP proxy; write http://host:port or http://user:password@host:port.",
        )
    return HttpProxy(host, port, unquote(parts.username or ""), unquote(parts.password or ""))


def status_of(answer: bytes) -> int:
    """Return the status of a proxy's answer; 0 if it is not HTTP."""
    words = answer.split(b"\r\n", 1)[0].split(None, 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/1.") or not words[1].isdigit():
        return 0
    return int(words[1][:3])


def first_set(names: tuple[str, ...], environment: Mapping[str, str] = os.environ) -> tuple[str, str]:
    """Return the first variable that is set, and its value; both empty if none is set."""
    found = next((name for name in names if environment.get(name)), "")
    return found, environment.get(found, "")
