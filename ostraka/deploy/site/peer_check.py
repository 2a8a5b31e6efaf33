"""Checks of other servers: reachability, clocks, versions and revocation lists."""

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version

import grpc

from ostraka.common.clock import Clock
from ostraka.common.config import split_addresses
from ostraka.common.identity import Identity, Role
from ostraka.common.rpc import call_error, open_channel, with_retries
from ostraka.common.rpc.failures import failure_of
from ostraka.common.wire.contexts import PROTOCOL_VERSION
from ostraka.deploy.site.certificate_check import expiry
from ostraka.deploy.site.finding import Finding, Place, failure, ok, warning
from ostraka.protos.ostraka.v1 import site_pb2, site_pb2_grpc

TIMEOUT_S = 10.0
ALLOWED_SKEW_S = 60.0
"""Default of a guardian's policy."""


@dataclass(frozen=True)
class CheckedServer:
    """A server that this site calls, and its address."""

    identity: Identity
    address: str

    @property
    def name(self) -> str:
        """Its name in findings."""
        return f"{self.identity.role} {self.identity.site}"


@dataclass(frozen=True)
class Answer:
    """What a server reports about itself.

    Attributes:
        about: its report.
        ahead_s: how far its clock is ahead of ours, in seconds, plus or minus `unsure_s`.
        unsure_s: half the round trip.
    """

    about: site_pb2.AboutReply
    ahead_s: float
    unsure_s: float


def peers(place: Place) -> Iterator[CheckedServer]:
    """Yield the servers that a site's role calls: the guardian's replicas and, for a querier, the parties."""
    site = place.site
    for address in split_addresses(site.guardian) if site.guardian else ():
        yield CheckedServer(Identity(site.federation, site.guardian_site, Role.GUARDIAN), address)
    if site.role == "query":
        for party, address in site.parties.items():
            yield CheckedServer(Identity(site.federation, party, Role.PARTY), address)


def peer(place: Place, peer: CheckedServer) -> list[Finding]:
    """Call one server, and compare it with this site."""
    if place.credentials is None:
        return [failure(peer.name, f"{peer.address} was not called: this site has no valid certificates.")]
    try:
        return compare(peer, ask(place, peer), place.credentials.revocations.number, place.clock)
    except Exception as error:
        return [failure(peer.name, failure_of(error, peer.name).message)]


def compare(peer: CheckedServer, answer: Answer, revocations: int, clock: Clock) -> list[Finding]:
    """Compare a server's report with this site, which has this revocation list."""
    found = [
        answer_finding(peer, answer),
        clocks(peer, answer),
        versions(peer, answer.about.version, answer.about.protocol),
        revocation_lists(peer, revocations, answer.about.revocations),
    ]
    whose = f"The {peer.name} is"
    return [*found, expiry(f"{peer.name}: certificate", whose, answer.about.expires_unix_s, clock)]


def ask(place: Place, peer: CheckedServer) -> Answer:
    """Ask a server about itself; raises `server.*` or `identity.*` if it does not answer."""
    with open_channel(place.credentials, peer.address, peer.identity, clock=place.clock) as channel:
        stub = site_pb2_grpc.SiteStub(channel)
        try:
            # The first call also waits for the handshake, which would look like a clock difference. It is
            # made twice before a server counts as unreachable, because a busy relay may break off one call.
            with_retries(
                lambda: stub.About(site_pb2.AboutRequest(), timeout=TIMEOUT_S),
                attempts=2,
                base_s=1.0,
                sleep=time.sleep,
                rng=random.SystemRandom(),
                late=False,
            )
            sent = place.clock.now()
            about = stub.About(site_pb2.AboutRequest(), timeout=TIMEOUT_S)
        except grpc.RpcError as error:
            raise call_error(error) from error
        received = place.clock.now()
    ahead_s = about.time_unix_ms / 1000 - (sent + received) / 2
    return Answer(about, ahead_s, (received - sent) / 2)


def answer_finding(peer: CheckedServer, answer: Answer) -> Finding:
    """Return the finding that a server answered."""
    return ok(
        peer.name, f"{peer.address} answers in {2000 * answer.unsure_s:.0f} ms and is {peer.identity.uri}."
    )


def clocks(peer: CheckedServer, answer: Answer) -> Finding:
    """Whether two clocks are close enough for both to find the same grants and certificates valid."""
    check = f"{peer.name}: clock"
    off = abs(answer.ahead_s)
    if off - answer.unsure_s <= ALLOWED_SKEW_S:
        return ok(check, f"Clocks differ by {off:.1f} s, give or take {answer.unsure_s:.1f} s.")
    way = "behind" if answer.ahead_s > 0 else "ahead of"
    return failure(
        check,
        f"This machine's clock is {off:.0f} s {way} that of the {peer.name}, and {ALLOWED_SKEW_S:.0f} s are"
        " allowed; set both by NTP.",
    )


def versions(peer: CheckedServer, software: str, protocol: str) -> Finding:
    """Whether two versions are compatible."""
    check = f"{peer.name}: version"
    own = version("ostraka")
    if protocol != PROTOCOL_VERSION:
        return failure(
            check,
            f"The {peer.name} speaks {protocol or 'no protocol'} and this site {PROTOCOL_VERSION}; run the"
            " same version of Ostraka everywhere.",
        )
    if software != own:
        return warning(
            check, f"The {peer.name} runs Ostraka {software} and this site {own}; upgrade the older one soon."
        )
    return ok(check, f"Both run Ostraka {own}.")


def revocation_lists(peer: CheckedServer, own: int, its: int) -> Finding:
    """Whether two sites know of the same revocations, by the numbers of their lists."""
    check = f"{peer.name}: revocations"
    if own == its:
        return ok(
            check, f"Both have revocation list {own}." if own else "Neither site has a revocation list."
        )
    if own < its:
        return warning(
            check,
            f"The {peer.name} has revocation list {its} and this site {own}; a party gets it when it serves,"
            " others ask the federation's coordinator for crl.pem.",
        )
    return warning(
        check,
        f"The {peer.name} has revocation list {its} and this site {own}; an administrator gives it the newest"
        " with `ostraka guardian revoke`.",
    )
