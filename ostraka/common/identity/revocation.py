"""Revoked certificates of a federation, from the newest list that this site has."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import structlog
from cryptography import x509

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import replace_durably
from ostraka.common.identity.crl import NO_LIST, RevocationList, read_crl
from ostraka.common.identity.identity import identity_of

LOOK_EVERY_S = 5.0
"""Seconds until the files are looked at again."""

Stamp = tuple[int, int, int]


class Revocations:
    """The revocation list in force; safe to use from many threads.

    It is the newest that lies in one of several files, which people or this site's servers replace. A list
    that cannot be read, of another CA, or older than the one in force is refused and logged once; the one in
    force stays, also where its file goes away. Without any file nothing is revoked.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        ca_pem: bytes,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        look_every_s: float = LOOK_EVERY_S,
    ) -> None:
        """Take where lists may lie (the last is where `accept` keeps them) and the CA's certificate."""
        self._paths = tuple(dict.fromkeys(paths))
        self._ca_pem = ca_pem
        self._monotonic = monotonic
        self._look_every_s = look_every_s
        self._lock = threading.RLock()
        self._stamps: dict[Path, Stamp] = {}
        self._current = NO_LIST
        self._due = float("-inf")

    @property
    def current(self) -> RevocationList:
        """The list in force; files are looked at again where that is due."""
        if self._monotonic() >= self._due:
            with self._lock:
                first, before = self._due == float("-inf"), self._current
                self._due = self._monotonic() + self._look_every_s
                for path in self._paths:
                    self._look(path)
                if not first and self._current is not before:
                    self._tell()
        return self._current

    @property
    def number(self) -> int:
        """Number of the list in force; zero for none."""
        return self.current.number

    def revokes(self, certificate: x509.Certificate) -> bool:
        """Whether the list in force names a certificate, which the caller knows to be of this CA."""
        return certificate.serial_number in self.current.serials

    def check(self, certificate: x509.Certificate, whose: str) -> None:
        """Raise identity.revoked for a certificate that is revoked; `whose` begins the sentence."""
        if self.revokes(certificate):
            raise OstrakaError(
                ErrorCode.IDENTITY_REVOKED,
                f"{whose} was revoked by the federation's CA; make new keys with `ostraka site renew` and"
                " have the CA sign them.",
                identity=identity_of(certificate).uri,
            )

    def accept(self, pem: bytes) -> RevocationList:
        """Put a list into force, and keep it for the next start.

        Returns:
            The list in force, which is the given one unless that has the same number.

        Raises:
            OstrakaError: identity.foreign, identity.invalid for what is no list, an older one, or another one
                of the same number.
        """
        found, _ = read_crl(pem, self._ca_pem), self.current
        with self._lock:
            self._check_order(found)
            if found.number > self._current.number:
                self._current = found
                self._tell()
                self._keep(pem)
            return self._current

    def require_readable(self) -> None:
        """Refuse to go on where a list lies here, none is in force, and nobody can tell whom it names.

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
                    f"{path} is no revocation list of this federation's CA, or cannot be read, so that nobody"
                    " knows who is revoked; put the CA's newest crl.pem there.",
                ) from error

    def _keep(self, pem: bytes) -> None:
        """Write a list; one that cannot be written is in force too, and fetched again after a restart."""
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
        """Log that another list is in force; which one a process begins with is no news."""
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
