"""A federation with real certificates, for tests."""

import itertools
from pathlib import Path

from ostraka.common.clock import Clock, SystemClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role

NAME = "demo"
GUARDIAN = Identity(NAME, "guardian", Role.GUARDIAN)
PARTY = Identity(NAME, "a", Role.PARTY)
QUERIER = Identity(NAME, "q", Role.QUERY)


class Federation:
    """A CA, and folders with the certificates it issues."""

    def __init__(self, root: Path, name: str = NAME, clock: Clock | None = None) -> None:
        self.root = root
        self.clock = clock or SystemClock()
        (root / "ca").mkdir(parents=True)
        self.ca = CertificateAuthority.create(name, self.clock).save(root / "ca")
        self._count = itertools.count()

    def issue(self, identity: Identity, clock: Clock | None = None, days: float = 1) -> Credentials:
        folder = self.root / f"{next(self._count)}"
        folder.mkdir(parents=True)
        return self.ca.issue(identity, folder, clock or self.clock, days=days)

    def revoke(self, *holders: Credentials) -> bytes:
        """Issue the next revocation list, which names both certificates of each holder."""
        serials = [one.serial_number for holder in holders for one in (holder.tls_cert, holder.signing_cert)]
        return self.ca.revoke(serials, self.clock)
