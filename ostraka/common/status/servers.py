"""Findings of status commands about certificates and servers: expiry, reachability, versions, problems."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Self, TypeVar

import grpc

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig, split_addresses
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Credentials, Identity, Role
from ostraka.common.rpc import call_error, open_channel
from ostraka.common.rpc.failures import failure_of
from ostraka.protos.ostraka.v1 import guardian_pb2, guardian_pb2_grpc, site_pb2, site_pb2_grpc


@dataclass(frozen=True)
class Problem:
    """The stable code and the sentence of an error."""

    code: str
    message: str

    @classmethod
    def of(cls, error: OstrakaError) -> Self:
        """Return the problem that an error describes."""
        return cls(error.code.value, error.message)

    def __str__(self) -> str:
        return f"[{self.code}] {self.message}"


CALL_S = 10.0
"""Time in which a server has to answer, in seconds."""
AT_ONCE = 16
"""Number of servers asked at the same time: each takes a thread, which mostly waits."""

T = TypeVar("T")


@dataclass(frozen=True)
class Server:
    """One server and its answer.

    Attributes:
        site: its name.
        address: the address that was called.
        version: version of its software; empty if it did not answer.
        clock_ahead_s: how far its clock is ahead of this one, in seconds, no more exact than the call's
            duration.
        revocations: number of its revocation list.
        problem: why it did not answer, if it did not.
    """

    site: str
    address: str
    version: str = ""
    clock_ahead_s: float = 0.0
    revocations: int = 0
    problem: Problem | None = None


def guardians(site: SiteConfig, own: Credentials, clock: Clock) -> list[Server]:
    """Ask every replica of the guardian, in the order of the site's `site.toml`."""
    expected = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    return _ask_all(own, [(address, expected) for address in split_addresses(site.guardian)], clock)


def parties(site: SiteConfig, own: Credentials, clock: Clock) -> list[Server]:
    """Ask every party that the site's `site.toml` names."""
    named = [(at, Identity(site.federation, name, Role.PARTY)) for name, at in site.parties.items()]
    return _ask_all(own, named, clock)


def standing(
    site: SiteConfig, own: Credentials, servers: Sequence[Server], clock: Clock
) -> guardian_pb2.StandingReply | Problem:
    """Return what the first guardian replica that answered knows of this site, or why none answered."""
    expected = Identity(site.federation, site.guardian_site, Role.GUARDIAN)
    answered = next((server for server in servers if server.problem is None), servers[0])
    if answered.problem is not None:
        return answered.problem
    try:
        return _call(own, answered.address, expected, clock, _standing)
    except OstrakaError as error:
        return Problem.of(error)


def _ask_all(own: Credentials, named: Sequence[tuple[str, Identity]], clock: Clock) -> list[Server]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: _ask(own, one[0], one[1], clock), named))


def _ask(own: Credentials, address: str, expected: Identity, clock: Clock) -> Server:
    try:
        about = _call(own, address, expected, clock, _about)
    except Exception as error:
        failure = failure_of(error, f"{expected.role} {expected.site}")
        return Server(expected.site, address, problem=Problem.of(failure))
    ahead = about.time_unix_ms / 1000 - clock.now()
    # Adding 0 turns -0.0 into 0.0.
    return Server(expected.site, address, about.version, round(ahead, 1) + 0.0, about.revocations)


def _call(
    own: Credentials, address: str, expected: Identity, clock: Clock, call: Callable[[grpc.Channel], T]
) -> T:
    with open_channel(own, address, expected, clock=clock) as channel:
        try:
            return call(channel)
        except grpc.RpcError as exc:
            raise call_error(exc) from exc


def _about(channel: grpc.Channel) -> site_pb2.AboutReply:
    return site_pb2_grpc.SiteStub(channel).About(site_pb2.AboutRequest(), timeout=CALL_S)


def _standing(channel: grpc.Channel) -> guardian_pb2.StandingReply:
    request = guardian_pb2.StandingRequest()
    return guardian_pb2_grpc.GuardianStub(channel).Standing(request, timeout=CALL_S)


DAY_S = 24 * 3600


@dataclass(frozen=True)
class CertificateStatus:
    """Current state of a site's own certificates.

    Attributes:
        identity: the identity that they certify.
        expires_unix_s: when the first of them expires.
        days_left: days until then; below zero afterwards.
        revocations: number of the revocation list that the site has, zero for none.
        problem: why nobody would accept them, if nobody would.
    """

    identity: str
    expires_unix_s: int
    days_left: float
    revocations: int
    problem: Problem | None


def certificates_of(credentials: Credentials, clock: Clock) -> CertificateStatus:
    """Return the state of a site's credentials."""
    return CertificateStatus(
        credentials.identity.uri,
        int(credentials.expires_unix_s),
        round((credentials.expires_unix_s - clock.now()) / DAY_S, 1),
        credentials.revocations.number,
        _problem(credentials, clock),
    )


def _problem(credentials: Credentials, clock: Clock) -> Problem | None:
    try:
        credentials.check_valid(clock)
    except OstrakaError as error:
        return Problem.of(error)
    return None
