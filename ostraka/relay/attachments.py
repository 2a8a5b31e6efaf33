"""Sites that are attached to a relay, and the sockets that they open for callers."""

import asyncio
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from cryptography import x509

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Identity
from ostraka.common.identity.certificates import check_not_expired
from ostraka.common.identity.revocation import Revocations
from ostraka.common.relay.messages import Open, Refused, send
from ostraka.common.relay.proofs import SKEW_S
from ostraka.common.relay.web_socket import WebSocket
from ostraka.relay.quotas import MAX_OF_CALLER, MAX_OF_SITE, MAX_SITES, MAX_STRANGERS, MAX_TUNNELS, Quota

OPEN_S = 10.0
"""For how long a site may take to open a socket that it is asked for."""
TOKEN_BYTES = 18


@dataclass(eq=False)
class Attached:
    """A site that proved who it is.

    Attributes:
        identity: who.
        certificate: by which it proved it.
        socket: its control socket.
        serves: whether callers are passed on to it.
        tunnels: sockets that carry its connections.
    """

    identity: Identity
    certificate: x509.Certificate
    socket: WebSocket
    serves: bool
    tunnels: set[WebSocket] = field(default_factory=set)

    def refuse(self, error: OstrakaError) -> None:
        """Say why the attachment ends, and end it."""
        send(self.socket, Refused(code=error.code, message=error.message))
        self.socket.close()

    def cut(self, error: OstrakaError) -> None:
        """End the attachment and all that it carries."""
        self.refuse(error)
        for tunnel in list(self.tunnels):
            tunnel.abort()


class Attachments:
    """Who is attached. One serves as each site and role: a newer one replaces an older one."""

    def __init__(self, revocations: Revocations, clock: Clock) -> None:
        self._revocations = revocations
        self._clock = clock
        self._all: set[Attached] = set()
        # Attached or not any more: what a site carries goes on when its control socket ends.
        self._carrying: set[Attached] = set()
        self._serving: dict[str, Attached] = {}
        self._due: dict[str, asyncio.Future[WebSocket]] = {}
        self._tunnels = Quota(MAX_TUNNELS, "connections by the relay")
        self._strangers = Quota(MAX_STRANGERS, "connections of callers that are not attached")
        self._callers = Quota(MAX_OF_CALLER, "connections by the relay")
        self._sites = Quota(MAX_OF_SITE, "attachments")

    @property
    def count(self) -> int:
        """How many sites are attached."""
        return len(self._all)

    @property
    def tunnels(self) -> int:
        """How many sockets sites have for connections, those included that are being opened."""
        return self._tunnels.total

    @contextmanager
    def attach(self, site: Attached) -> Iterator[None]:
        """Pass callers on to a site within the block; raises relay.quota where too many are attached.

        An older attachment is told relay.replaced: it may have died unseen, and what it carries goes on.
        """
        name = site.identity.server_name
        older = self._serving.get(name) if site.serves else None
        if older is None and self.count >= MAX_SITES:
            raise OstrakaError(
                ErrorCode.RELAY_QUOTA, f"{MAX_SITES} sites are attached to the relay, and no more may be."
            )
        with self._sites.place(site.identity.uri):
            self._all.add(site)
            if site.serves:
                self._serving[name] = site
            if older is not None:
                older.refuse(_replacement(site.identity))
            try:
                yield
            finally:
                self._all.discard(site)
                if self._serving.get(name) is site:
                    del self._serving[name]

    def find(self, name: str) -> Attached:
        """Return the site that serves as `name`; raises party.detached where none is attached."""
        found = self._serving.get(name)
        if found is None:
            raise OstrakaError(
                ErrorCode.PARTY_DETACHED,
                f"No agent is attached to the relay as {name[:253]}; `ostraka site check` at that site "
                "says why.",
            )
        return found

    @contextmanager
    def place(self, site: Attached) -> Iterator[None]:
        """Hold the place of one connection of a site; raises relay.quota."""
        with self._tunnels.place(site.identity.uri):
            yield

    @contextmanager
    def place_for_stranger(self, site: Attached) -> Iterator[None]:
        """Hold the place of one connection to a site by somebody who is not attached; raises relay.quota."""
        with self._strangers.place(site.identity.uri), self.place(site):
            yield

    @contextmanager
    def place_for_caller(self, site: Attached, name: str) -> Iterator[None]:
        """Hold the place of one connection that a site asks for to `name`; raises relay.quota."""
        with self._callers.place(f"{site.identity.uri} to {name}"), self.place(site):
            yield

    async def open_tunnel(self, site: Attached, ref: str | None = None) -> WebSocket:
        """Return a new socket of a site; whoever calls holds its place.

        Raises:
            OstrakaError: party.detached where the site refuses, or opens none in time.
        """
        token = secrets.token_urlsafe(TOKEN_BYTES)
        due = self._due[token] = asyncio.Future[WebSocket]()
        send(site.socket, Open(token=token, ref=ref))
        try:
            async with asyncio.timeout(OPEN_S):
                tunnel = await due
        except TimeoutError as error:
            raise OstrakaError(
                ErrorCode.PARTY_DETACHED,
                f"{site.identity.uri} is attached to the relay, and opens no connection in {OPEN_S:.0f} s;"
                " look at its log.",
            ) from error
        finally:
            self._due.pop(token, None)
        site.tunnels.add(tunnel)
        self._carrying.add(site)
        tunnel.ended.add_done_callback(lambda _: self._drop(site, tunnel))
        return tunnel

    def _drop(self, site: Attached, tunnel: WebSocket) -> None:
        site.tunnels.discard(tunnel)
        if not site.tunnels:
            self._carrying.discard(site)

    def take_tunnel(self, token: str, tunnel: WebSocket) -> bool:
        """Hand a socket to whoever waits for it; False where nobody does, or not any more."""
        due = self._due.pop(token, None)
        if due is None or due.done():
            return False
        due.set_result(tunnel)
        return True

    def refuse_tunnel(self, site: Attached, token: str, problem: OstrakaError) -> None:
        """Tell whoever waits for a socket of a site that there will be none."""
        due = self._due.pop(token, None)
        if due is not None and not due.done():
            due.set_exception(
                OstrakaError(
                    ErrorCode.PARTY_DETACHED,
                    f"{site.identity.uri} is attached to the relay, and takes no call: {problem.message}",
                )
            )

    def check(self) -> None:
        """Cut off every site, and all it carries, whose certificate was revoked or has expired."""
        for site in self._all | self._carrying:
            whose = f"The certificate of {site.identity.uri}"
            try:
                self._revocations.check(site.certificate, whose)
                check_not_expired(site.certificate, self._clock, whose=whose, skew_s=SKEW_S)
            except OstrakaError as error:
                structlog.get_logger().warning("relay.cut", site=site.identity.uri, code=error.code)
                site.cut(error)


def _replacement(identity: Identity) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RELAY_REPLACED,
        f"Another agent attached as {identity.uri}; run one alone, or have its certificates revoked if the"
        " other is not yours.",
    )
