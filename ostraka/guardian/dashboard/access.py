"""Access control of the console: a browser with a one-time token, or an administrator's certificate."""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from starlette.requests import HTTPConnection

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Credentials, Role
from ostraka.common.identity.certificates import check_certificate
from ostraka.common.identity.identity import identity_of

COOKIE = "ostraka-console"
IDLE_S = 30 * 60
REFRESH = "ostraka-refresh"
"""Header of requests that the page's script sends by itself: they do not extend a login."""


@dataclass(frozen=True)
class Visitor:
    """A visitor of the console.

    Attributes:
        name: the name to display.
        uri: the URI of the visitor's certificate; empty if the console's own certificate acts for the
            visitor.
        csrf: the secret in each of the visitor's forms, which nobody else can know.
    """

    name: str
    csrf: str = field(repr=False)
    uri: str = ""


class Door(Protocol):
    """Decides who may enter."""

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who asks; None for an unknown visitor; raises `identity.*` for a refused certificate."""
        ...


class _Forms:
    """Makes the secrets of forms, each bound to one visitor."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def csrf(self, bearer: bytes) -> str:
        return hmac.digest(self._key, bearer, "sha256").hex()


class Tokens:
    """Admits a visitor with a one-time token, then recognises the browser by a cookie; on loopback.

    Only digests of tokens and cookies are kept. One token is open at a time.
    """

    def __init__(self, clock: Clock, tell: Callable[[str], object]) -> None:
        self._clock = clock
        self._tell = tell
        self._forms = _Forms()
        self._open: bytes | None = None
        self._seen: dict[bytes, float] = {}

    def invite(self) -> None:
        """Print a new token, unless an unused token is open."""
        if self._open is None:
            token = secrets.token_urlsafe(32)
            self._open = _digest(token)
            self._tell(token)

    def enter(self, token: str) -> str | None:
        """Return a cookie for the open token, which is then void; None for any other token."""
        # Compared in constant time: the time of a refusal must not reveal how much of a token is right.
        if self._open is None or not hmac.compare_digest(self._open, _digest(token)):
            self.invite()
            return None
        self._open = None
        cookie = secrets.token_urlsafe(32)
        self._seen[_digest(cookie)] = self._clock.now()
        return cookie

    def leave(self, request: HTTPConnection) -> None:
        """Forget a browser."""
        self._seen.pop(_digest(request.cookies.get(COOKIE, "")), None)

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who has the cookie of a browser that was active within `IDLE_S` seconds; invites anybody else."""
        now = self._clock.now()
        self._seen = {key: last for key, last in self._seen.items() if now - last < IDLE_S}
        key = _digest(request.cookies.get(COOKIE, ""))
        if key not in self._seen:
            self.invite()
            return None
        # A page left open reloads itself now and then, which is no sign of a person.
        if REFRESH not in request.headers:
            self._seen[key] = now
        return Visitor("a browser on this machine", self._forms.csrf(key))


class CertificateDoor:
    """Admits visitors with an administrator's certificate of the federation, checked at every request."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._forms = _Forms()

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who has a certificate; raises `identity.*` if it is not an administrator's or not valid."""
        pem = request.scope.get("extensions", {}).get("tls", {}).get("client_cert_chain", ())
        if not pem:
            return None
        certificate = x509.load_pem_x509_certificate(pem[0].encode())
        self._check(certificate)
        fingerprint = certificate.fingerprint(hashes.SHA256())
        uri = identity_of(certificate).uri
        return Visitor(uri, self._forms.csrf(fingerprint), uri)

    def _check(self, certificate: x509.Certificate) -> None:
        own = self._credentials
        whose = "The browser's certificate"
        ca = x509.load_pem_x509_certificate(own.ca_pem)
        check_certificate(certificate, ca, self._clock, whose=whose)
        own.revocations.check(certificate, whose)
        identity = identity_of(certificate)
        if identity.federation != own.identity.federation or identity.role is not Role.ADMIN:
            raise OstrakaError(
                ErrorCode.IDENTITY_WRONG_ROLE,
                f"{identity.uri} is no administrator of {own.identity.federation}; show an administrator's"
                " certificate.",
            )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
