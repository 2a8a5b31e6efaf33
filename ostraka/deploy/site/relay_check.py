"""Check step by step whether a site reaches its relays, in words for the firewall's administrators."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cryptography import x509

from ostraka.common.config import split_address
from ostraka.common.errors import ErrorCode, OstrakaError, printable
from ostraka.common.identity import Credentials
from ostraka.common.relay.section import load_relay_section
from ostraka.deploy.site.finding import Finding, Place, failure, ok, warning
from ostraka.deploy.site.peer_check import ALLOWED_SKEW_S, Answer, CheckedServer, ask

if TYPE_CHECKING:
    from ostraka.common.relay.dialling import Way

FOR_IT = " For the IT department: docs/firewalls.md is one page on what this machine needs."
NETWORK = frozenset(
    {ErrorCode.RELAY_INTERCEPTED, ErrorCode.RELAY_UNREACHABLE, ErrorCode.RELAY_UPGRADE_REFUSED}
)
"""Errors that the network causes, not the federation."""


def relays(place: Place) -> Iterator[tuple[str, str]]:
    """Yield the name of a check and an address for each relay that a site attaches to."""
    if place.site.role == "relay":
        return
    for address in load_relay_section(place.site).addresses:
        yield f"relay {address}", address


def relay(place: Place, name: str, address: str) -> list[Finding]:
    """Dial one relay as the site's agent does: network and proxy, outer TLS, WebSocket, proofs, clock.

    Through a reachable relay, a site with a server also calls its own server.
    """
    own = place.credentials
    if own is None:
        return [failure(name, f"{address} was not called: this site has no valid certificates.")]
    try:
        found = asyncio.run(_dial(place, own, name, address))
    except OstrakaError as error:
        network = FOR_IT if error.code in NETWORK else ""
        return [failure(name, f"{error.message}{network}")]
    if place.site.role in ("party", "guardian"):
        found.append(_call_itself(place, own, f"{name}: to itself", address))
    return found


async def _dial(place: Place, own: Credentials, name: str, address: str) -> list[Finding]:
    from ostraka.common.relay.agent import attach

    way = _way(place, address)
    through = f"through the proxy {way.proxy.address}" if way.proxy else "without a proxy"
    connection = await way.open_socket()
    found = [ok(f"{name}: network", f"{address} is reached {through}.")]
    issuer = await asyncio.to_thread(issuer_of, connection, split_address(address)[0])
    try:
        # It takes no calls: a running server, if there is one, stays attached.
        attachment = await attach(own, way, place.clock, serves=False)
    except OstrakaError as error:
        if error.code is ErrorCode.RELAY_INTERCEPTED and issuer:
            raise OstrakaError(
                error.code, f"{error.message} Its certificate was issued by {issuer}."
            ) from error
        raise
    await attachment.socket.aclose()
    found.append(
        ok(f"{name}: TLS", f"The outer TLS ends at a host with a certificate of {issuer or 'nobody'}.")
    )
    found.append(ok(name, f"It is {way.relay.uri}, and lets this site attach."))
    off = abs(attachment.ahead_s)
    if off - attachment.unsure_s > ALLOWED_SKEW_S:
        found.append(
            failure(
                f"{name}: clock", f"This machine's clock is {off:.0f} s off the relay's; set both by NTP."
            )
        )
    return found


def _call_itself(place: Place, own: Credentials, check: str, address: str) -> Finding:
    """Call this site's own server through the relay, on the same way as its agent."""
    try:
        answer = asyncio.run(_ask_itself(place, own, address))
    except OstrakaError as error:
        if error.code is ErrorCode.PARTY_DETACHED:
            return warning(
                check, f"No agent is attached as this site: start `ostraka {own.identity.role} serve`."
            )
        return failure(check, error.message)
    return ok(
        check, f"A call by the relay comes back to this site's own server in {2000 * answer.unsure_s:.0f} ms."
    )


async def _ask_itself(place: Place, own: Credentials, address: str) -> Answer:
    from ostraka.common.relay.agent import Agent

    with socket.create_server(("127.0.0.1", 0)) as lent:
        itself = CheckedServer(own.identity, f"127.0.0.1:{lent.getsockname()[1]}")
        # It only calls out: incoming calls are for the agent of the server, if there is one.
        agent = Agent(own, [_way(place, address)], place.clock, None, {own.identity: lent})
        calling = asyncio.create_task(agent.run(asyncio.Event()))
        try:
            return await asyncio.to_thread(ask, place, itself)
        finally:
            calling.cancel()
            await asyncio.wait([calling])


def _way(place: Place, address: str) -> "Way":
    from ostraka.common.relay.agent_process import relay_ways

    ways = relay_ways(place.site, load_relay_section(place.site))
    return next(way for way in ways if way.address == address)


def issuer_of(connection: socket.socket, host: str) -> str:
    """Return the issuer of the certificate at the other end of a connection, trusted or not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # it is only read, and nothing is sent
    connection.setblocking(True)
    connection.settimeout(5.0)
    try:
        with context.wrap_socket(connection, server_hostname=host) as tls:
            shown = tls.getpeercert(binary_form=True)
    except OSError:
        return ""
    finally:
        connection.close()
    return printable(x509.load_der_x509_certificate(shown).issuer.rfc4514_string()) if shown else ""
