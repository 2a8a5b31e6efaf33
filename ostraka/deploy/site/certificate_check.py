"""Checks of keys, certificates and their trust anchor."""

from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.console.texts import count_text
from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Credentials
from ostraka.common.identity.certificate_requests import REQUEST, fingerprint
from ostraka.common.identity.credentials import CA_CERT, SIGNING_KEY, TLS_KEY
from ostraka.common.identity.identity import UNREADABLE
from ostraka.common.identity.revocation import CRL, read_crl
from ostraka.deploy.site.finding import Finding, failure, ok, warning

DAY_S = 86_400
EXPIRY_WARNING_DAYS = 30
ANCHOR = "CA"
KEYS = "keys"
CERTIFICATES = "certificates"


def anchor(site: SiteConfig) -> Finding:
    """Return which CA this site trusts, by its fingerprint."""
    folder = site.folder / site.credentials
    path = next((path for path in (folder / CA_CERT, site.folder / CA_CERT) if path.exists()), None)
    if path is None:
        return failure(ANCHOR, f"There is no {CA_CERT} in {site.folder}; ask for the kit again.")
    try:
        found = fingerprint(x509.load_pem_x509_certificate(path.read_bytes()))
    except (OSError, *UNREADABLE):
        return failure(ANCHOR, f"{path} cannot be read as a certificate; ask for the kit again.")
    return ok(ANCHOR, f"{found}: compare it with what the federation's coordinator tells you.")


def key_files(site: SiteConfig) -> Finding:
    """Whether the private keys exist and only their owner can read them."""
    folder = site.folder / site.credentials
    if not (folder / TLS_KEY).exists():
        return failure(KEYS, _no_keys(site))
    for path in (folder / TLS_KEY, folder / SIGNING_KEY):
        try:
            mode = path.stat().st_mode
            path.read_bytes()
        except OSError as error:
            return failure(KEYS, f"Cannot read {path}: {error.strerror}; give it to the user who serves.")
        if mode & 0o007:
            return failure(KEYS, f"All users may read {path}; run: chmod 600 {path}")
        if mode & 0o070:
            return warning(KEYS, f"Its group may read {path}; unless that is meant, run: chmod 600 {path}")
    return ok(KEYS, f"The keys in {folder} are readable by their owner alone.")


def certificates(site: SiteConfig, clock: Clock) -> tuple[Finding, Credentials | None]:
    """Whether the certificates are this site's, valid and not revoked; the credentials, if they are."""
    if not (site.folder / site.credentials / TLS_KEY).exists():
        return failure(CERTIFICATES, _no_keys(site)), None
    try:
        credentials = Credentials.of(site)
        credentials.check_valid(clock)
    except OstrakaError as error:
        return failure(CERTIFICATES, error.message), None
    return expiry(
        CERTIFICATES, f"{credentials.identity.uri} is", credentials.expires_unix_s, clock
    ), credentials


def revocation_lists(credentials: Credentials) -> list[Finding]:
    """Find revocation list files that a server would refuse; without a list, no certificate is revoked."""
    found = []
    for path in dict.fromkeys(folder / CRL for folder in credentials.lists):
        try:
            if path.exists():
                read_crl(path.read_bytes(), credentials.ca_pem)
        except OSError as error:
            found.append(
                failure(
                    f"revocations: {path}", f"Cannot read {path}: {error.strerror}; let the server read it."
                )
            )
        except OstrakaError as error:
            found.append(failure(f"revocations: {path}", f"{path}: {error.message}"))
    return found


def expiry(check: str, whose: str, expires_unix_s: float, clock: Clock) -> Finding:
    """Whether certificates last; `whose` begins the sentence, like "The guardian is"."""
    until = f"{whose} certified until {datetime.fromtimestamp(expires_unix_s, UTC):%Y-%m-%d}"
    days = int((expires_unix_s - clock.now()) // DAY_S)
    if days < EXPIRY_WARNING_DAYS:
        left = count_text(days, "day")
        return warning(check, f"{until}, {left} from now; renew in time with `ostraka site renew`.")
    return ok(check, f"{until}.")


def _no_keys(site: SiteConfig) -> str:
    if (site.folder / site.credentials).is_symlink():
        return "The keys in use are gone; make new ones with `ostraka site renew`."
    if (site.folder / REQUEST).exists():
        return f"Certificates are missing; send {_request(site.folder)}, then run `ostraka site install`."
    return "There are no keys yet; make them with `ostraka site init`."


def _request(folder: Path) -> str:
    return f"{folder / REQUEST} to the federation's coordinator"
