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
"""Header of requests that the page's script sends by itself: they keep nobody signed in."""


@dataclass(frozen=True)
class Visitor:
    """Who looks at the console.

    Attributes:
        name: for people.
        uri: of the certificate that was shown; empty where the console's own certificate speaks for them.
        csrf: what every form of theirs carries, and nobody else can know.
    """

    name: str
    csrf: str = field(repr=False)
    uri: str = ""


class Door(Protocol):
    """Decides who may enter."""

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who asks; None for nobody known; raises `identity.*` for a certificate that is refused."""
        ...


class _Forms:
    """Makes the secrets of forms, each one bound to who it was made for."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def csrf(self, bearer: bytes) -> str:
        return hmac.digest(self._key, bearer, "sha256").hex()


class Tokens:
    """Lets in who shows a token once, and knows the browser by a cookie from then on, on loopback.

    Of tokens and cookies only digests are kept. One token is open at a time.
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
        # Compared in constant time: how long a refusal takes must not tell how much of a token is right.
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
        """Who shows the cookie of a browser that was not idle for `IDLE_S` seconds; invites anybody else."""
        now = self._clock.now()
        self._seen = {key: last for key, last in self._seen.items() if now - last < IDLE_S}
        key = _digest(request.cookies.get(COOKIE, ""))
        if key not in self._seen:
            self.invite()
            return None
        # A page left open asks for itself now and then, which is no sign of anybody.
        if REFRESH not in request.headers:
            self._seen[key] = now
        return Visitor("a browser on this machine", self._forms.csrf(key))


class CertificateDoor:
    """Lets in who shows an administrator's certificate of the federation, checked with every request."""

    def __init__(self, credentials: Credentials, clock: Clock) -> None:
        self._credentials = credentials
        self._clock = clock
        self._forms = _Forms()

    def visitor(self, request: HTTPConnection) -> Visitor | None:
        """Who shows a certificate; raises `identity.*` for one that is no administrator's or not valid."""
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
