"""Revocation lists: made by the CA, read by all sites; a site applies the newest list that it has."""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from ostraka.common.clock import Clock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity.certificates import time_of
from ostraka.common.identity.identity import UNREADABLE, identity_of

CRL = "crl.pem"
CRL_DAYS = 365
"""Days until the next list is due; an overdue list stays in force."""


@dataclass(frozen=True)
class RevocationList:
    """A list that the federation's CA signed.

    Attributes:
        number: increases with every list; zero if there is none.
        serials: serial numbers of the revoked certificates.
        next_update_unix_s: when the CA promised the next list.
        pem: the list in the form in which it is passed on.
    """

    number: int
    serials: frozenset[int]
    next_update_unix_s: float
    pem: bytes


NO_LIST = RevocationList(0, frozenset(), float("inf"), b"")


def make_crl(
    ca: x509.Certificate,
    key: ec.EllipticCurvePrivateKey,
    before: bytes,
    serials: Collection[int],
    clock: Clock,
) -> bytes:
    """Make the list after `before` (PEM; empty: none), with `serials` revoked as well, from now on."""
    old = x509.load_pem_x509_crl(before) if before else None
    now = time_of(clock)
    builder = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(ca.subject)
        .last_update(now)
        .next_update(now + timedelta(days=CRL_DAYS))
        .add_extension(x509.CRLNumber(1 + (0 if old is None else _number(old))), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
    )
    kept = [] if old is None else list(old)
    for entry in kept:
        builder = builder.add_revoked_certificate(entry)
    for serial in sorted(set(serials) - {entry.serial_number for entry in kept}):
        builder = builder.add_revoked_certificate(_entry(serial, now))
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def read_crl(pem: bytes, ca_pem: bytes) -> RevocationList:
    """Read a list and verify that the CA signed it.

    Raises:
        OstrakaError: identity.invalid for anything but a list, identity.foreign for a list of another CA.
    """
    ca = x509.load_pem_x509_certificate(ca_pem)
    key = ca.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)  # noqa: S101
    try:
        found = x509.load_pem_x509_crl(pem)
        number = _number(found)
        until = found.next_update_utc
        serials = frozenset(entry.serial_number for entry in found)
        genuine = found.issuer == ca.subject and found.is_signature_valid(key)
    except UNREADABLE as error:
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            "The revocation list cannot be read; give the crl.pem that `ostraka provision revoke` wrote.",
        ) from error
    if not genuine:
        raise OstrakaError(
            ErrorCode.IDENTITY_FOREIGN,
            "The revocation list was not signed by this federation's CA; give this federation's crl.pem.",
        )
    return RevocationList(number, serials, until.timestamp() if until else float("inf"), pem)


def _number(crl: x509.CertificateRevocationList) -> int:
    return crl.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def _entry(serial: int, now: datetime) -> x509.RevokedCertificate:
    return x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()


LOOK_EVERY_S = 5.0
"""Seconds until the files are checked again."""

Stamp = tuple[int, int, int]


class Revocations:
    """The revocation list in force; safe to use from many threads.

    It is the newest of the lists in several files, which people or this site's servers replace. A list that
    cannot be read, is of another CA, or is older than the one in force is refused and logged once. The list
    in force stays, even if its file disappears. Without any file nothing is revoked.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        ca_pem: bytes,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Take the paths of lists (`accept` writes to the last one) and the CA's certificate."""
        self._paths = tuple(dict.fromkeys(paths))
        self._ca_pem = ca_pem
        self._monotonic = monotonic
        self._look_every_s = look_every_s
        # Guards stamps, list and due time: comparing a list with the one in force and replacing it is one
        # step.
        self._lock = threading.RLock()
        self._stamps: dict[Path, Stamp] = {}
        self._current = NO_LIST
        self._due = float("-inf")

    @property
    def current(self) -> RevocationList:
        """The list in force; files are checked again when that is due."""
        if self._monotonic() >= self._due:
            with self._lock:
                first = self._due == float("-inf")
                before = self._current
                # Postponed before files are read: meanwhile other threads use the list in force.
                self._due = self._monotonic() + self._look_every_s
                for path in self._paths:
                    self._look(path)
                if not first and self._current is not before:
                    self._tell()
        return self._current

    @property
    def number(self) -> int:
        """Number of the list in force; zero if there is none."""
        return self.current.number

    def revokes(self, certificate: x509.Certificate) -> bool:
        """Whether the list in force names a certificate; the caller must know that it is from this CA."""
        return certificate.serial_number in self.current.serials

    def check(self, certificate: x509.Certificate, whose: str) -> None:
        """Raise identity.revoked for a revoked certificate; `whose` begins the sentence."""
        if self.revokes(certificate):
            raise OstrakaError(
                ErrorCode.IDENTITY_REVOKED,
                f"{whose} was revoked by the federation's CA; make new keys with `ostraka site renew` and"
                " have the CA sign them.",
                identity=identity_of(certificate).uri,
            )

    def accept(self, pem: bytes) -> RevocationList:
        """Put a list into force, and store it for the next start.

        Returns:
            The list in force, which is the given one unless that has the same number.

        Raises:
            OstrakaError: identity.foreign; identity.invalid for anything but a list, an older list, or a
                different list with the same number.
        """
        found = read_crl(pem, self._ca_pem)
        self.current  # noqa: B018 (reads the newest list, so that it is compared with that)
        with self._lock:
            self._check_order(found)
            if found.number > self._current.number:
                self._current = found
                self._tell()
                self._keep(pem)
            return self._current

    def require_readable(self) -> None:
        """Refuse to continue if a list exists but cannot be read, because revoked sites would be unknown.

        Raises:
            OstrakaError: identity.foreign or identity.invalid.
        """
        if self.number:
            return
        for path in self._paths:
            try:
                read_crl(path.read_bytes(), self._ca_pem)
            except FileNotFoundError:
                continue
            except (OSError, OstrakaError) as error:
                raise OstrakaError(
                    error.code if isinstance(error, OstrakaError) else ErrorCode.IDENTITY_INVALID,
                    f"{path} is not a revocation list of this federation's CA, or cannot be read, so that "
                    "nobody knows who is revoked; put the CA's newest crl.pem there.",
                ) from error

    def _keep(self, pem: bytes) -> None:
        """Write a list; if that fails, it is in force anyway, and is fetched again after a restart."""
        path = self._paths[-1]
        try:
            replace_durably(path, pem)
        except (OSError, OstrakaError) as error:
            structlog.get_logger().error("revocations.not_kept", path=str(path), problem=str(error))

    def _look(self, path: Path) -> None:
        try:
            stat = path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if self._stamps.get(path) != stamp:
                self._stamps[path] = stamp
                self._read(path)
        except FileNotFoundError:
            self._stamps.pop(path, None)
        except OSError as error:
            _refuse(path, f"It cannot be read: {error.strerror}.")
        except OstrakaError as error:
            _refuse(path, error.message)

    def _read(self, path: Path) -> None:
        found = read_crl(path.read_bytes(), self._ca_pem)
        if found.number > self._current.number:
            self._current = found
        elif path == self._paths[-1]:
            self._check_order(found)

    def _tell(self) -> None:
        """Log that another list is in force; the first list of a process is not logged."""
        found = self._current
        structlog.get_logger().info("revocations.in_force", number=found.number, revoked=len(found.serials))

    def _check_order(self, found: RevocationList) -> None:
        """Raise for a list that is older than the one in force, or contradicts it."""
        if found.number < self._current.number:
            problem = f"is older than list {self._current.number}, which is in force"
        elif found.number == self._current.number and found.serials != self._current.serials:
            problem = "is another than the one in force: the CA's folder was set back or was copied"
        else:
            return
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID,
            f"Revocation list {found.number} {problem}; give the newest crl.pem of the CA's folder.",
        )


def _refuse(path: Path, problem: str) -> None:
    structlog.get_logger().error("revocations.refused", path=str(path), problem=problem)
