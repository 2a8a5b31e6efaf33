"""Expiry of a site's own certificates, and the revocation list that it has."""

from dataclasses import dataclass

from ostraka.common.clock import Clock
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.status.problem import Problem

DAY_S = 24 * 3600


@dataclass(frozen=True)
class CertificateStatus:
    """A site's own certificates as they stand now.

    Attributes:
        identity: whom they name.
        expires_unix_s: when the first of them expires.
        days_left: until then; below zero afterwards.
        revocations: number of the revocation list that the site has, zero for none.
        problem: why nobody would accept them, if so.
    """

    identity: str
    expires_unix_s: int
    days_left: float
    revocations: int
    problem: Problem | None


def certificates_of(credentials: Credentials, clock: Clock) -> CertificateStatus:
    """Return what a site's credentials say about themselves."""
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
