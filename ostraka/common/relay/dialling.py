"""The way to a relay: a socket, through an HTTP proxy if there is one, TLS, and a WebSocket."""

import asyncio
import socket
import ssl
from dataclasses import dataclass
from functools import cached_property

from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.relay.web_socket import CLOSE_S, WebSocket
from ostraka.common.rpc.http_connect import (
    ASKED_FOR_CREDENTIALS,
    END,
    MAX_ANSWER_BYTES,
    HttpProxy,
    status_of,
)

TIMEOUT_S = 10.0
"""Time limit for each of connecting, the proxy's answer, TLS and the upgrade: several slow round trips."""
PROTOCOLS = ("http/1.1",)
"""ALPN protocols: WebSockets begin as HTTP/1.1, and an inspecting proxy chooses HTTP/2 if it may."""


@dataclass(frozen=True)
class Way:
    """How one relay is reached.

    Attributes:
        address: the relay's address, host:port.
        relay: the identity that must be there.
        proxy: the proxy on the way, if any.
        roots: root certificates of the outer TLS, PEM; None: the federation's CA, and the relay's own name.
        ca_pem: certificate of the federation's CA.
    """

    address: str
    relay: Identity
    proxy: HttpProxy | None
    roots: str | None
    ca_pem: bytes

    @property
    def server_name(self) -> str:
        """The name that the outer certificate must have."""
        return self.relay.server_name if self.roots is None else split_address(self.address)[0]

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """The context that verifies the outer TLS; raises config.invalid for roots without certificates."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(cadata=self.roots or self.ca_pem.decode("ascii"))
        except ssl.SSLError as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                "The file that `ca` in the table [relay] names holds no certificates; put the CA's"
                " certificates there, as PEM.",
            ) from error
        context.set_alpn_protocols(PROTOCOLS)
        return context

    async def open_socket(self) -> socket.socket:
        """Return a connected socket to the relay; raise relay.unreachable."""
        host, port = (self.proxy.host, self.proxy.port) if self.proxy else split_address(self.address)
        try:
            async with asyncio.timeout(TIMEOUT_S):
                connection = await connect(host, port)
                try:
                    if self.proxy is not None:
                        await self._ask_proxy(connection, self.proxy)
                except BaseException:
                    connection.close()
                    raise
                return connection
        except OSError as error:  # includes timeouts
            who = f"The proxy {self.proxy.address}" if self.proxy else f"The relay at {self.address}"
            problem = "does not answer" if isinstance(error, TimeoutError) else "cannot be reached"
            detail = f" ({error.strerror})" if error.strerror else ""
            raise OstrakaError(
                ErrorCode.RELAY_UNREACHABLE,
                f"{who} {problem}{detail}; check the address, and that the firewall lets this machine connect"
                " to it.",
            ) from error

    async def web_socket(self, path: str) -> WebSocket:
        """Open a WebSocket at `path` of the relay.

        Raises:
            OstrakaError: relay.unreachable, relay.intercepted, relay.upgrade_refused.
        """
        connection = await self.open_socket()
        host, port = split_address(self.address)
        try:
            _, made = await asyncio.get_running_loop().create_connection(
                lambda: WebSocket.client(host, port, path),
                sock=connection,
                ssl=self.tls,
                server_hostname=self.server_name,
                ssl_handshake_timeout=TIMEOUT_S,
                ssl_shutdown_timeout=CLOSE_S,
            )
        except BaseException as error:
            connection.close()
            raise self._refusal(error) from error
        try:
            async with asyncio.timeout(TIMEOUT_S):
                await made.opened
        except BaseException as error:
            made.abort()
            raise self._refusal(error) from error
        return made

    async def _ask_proxy(self, connection: socket.socket, proxy: HttpProxy) -> None:
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(connection, proxy.request(self.address))
        answer = b""
        # A TLS server waits for its client, so nothing follows the proxy's answer.
        while END not in answer and len(answer) < MAX_ANSWER_BYTES:
            data = await loop.sock_recv(connection, MAX_ANSWER_BYTES)
            if not data:
                break
            answer += data
        status = status_of(answer)
        if not 200 <= status < 300:
            raise explain_refusal(proxy, self.address, status)

    def _refusal(self, error: BaseException) -> BaseException:
        if isinstance(error, ssl.SSLCertVerificationError):
            return OstrakaError(
                ErrorCode.RELAY_INTERCEPTED,
                f"The TLS to the relay at {self.address} ends at somebody with a certificate that this site"
                f" does not trust ({error.verify_message}), most likely a proxy that inspects traffic; name"
                " its CA in `ca` in the table [relay], or have the relay's host exempted from inspection.",
            )
        if isinstance(error, OSError):  # includes TLS errors and timeouts
            return OstrakaError(
                ErrorCode.RELAY_UNREACHABLE,
                f"The connection to the relay at {self.address} breaks off during TLS or the upgrade; check"
                " that a relay is at this address, and that the firewall lets TLS to it through.",
            )
        return error


def explain_refusal(proxy: HttpProxy, address: str, status: int) -> OstrakaError:
    """Return the error for a proxy's answer that is not a success."""
    if status == ASKED_FOR_CREDENTIALS:
        advice = "it wants a user name and password: write http://user:password@host:port as `proxy` in the"
        advice += " table [relay], or in HTTPS_PROXY"
    elif status:
        advice = f"have it allow CONNECT to {address}"
    else:
        advice = "it is not an HTTP proxy: correct `proxy`, or HTTPS_PROXY"
    return OstrakaError(
        ErrorCode.RELAY_UNREACHABLE,
        f"The proxy {proxy.address} refuses to connect to {address} with status {status}; {advice}.",
        status=str(status),
    )


async def connect(host: str, port: int) -> socket.socket:
    """Return a socket connected to the first address of a host that accepts; raise OSError."""
    loop = asyncio.get_running_loop()
    problem = OSError(f"{host} has no address")
    try:
        # A numeric address needs no look-up, for which asyncio would wake a thread and wait for it.
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for family, kind, protocol, _, address in found:
        connection = socket.socket(family, kind, protocol)
        connection.setblocking(False)
        try:
            await loop.sock_connect(connection, address)
        except OSError as error:
            connection.close()
            problem = error
        except BaseException:
            connection.close()
            raise
        else:
            return connection
    raise problem
