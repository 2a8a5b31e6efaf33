"""The parties of a year, with certificates that rotate, records that are re-registered, and receipts."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path

from ostraka.common.clock import ManualClock
from ostraka.common.identity import CertificateAuthority, Credentials, Identity, Role
from ostraka.common.wire.contexts import MANIFEST_CONTEXT
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.members import FEDERATION, TASK
from tests.chaos.records import Record

VALID_DAYS = 800


class Authority:
    """The federation's CA, which records what it revokes."""

    def __init__(self, folder: Path, clock: ManualClock) -> None:
        self._folder = folder
        self._clock = clock
        self._lists = folder / "lists"
        for name in ("ca", "lists"):
            (folder / name).mkdir()
        self._ca = CertificateAuthority.create(FEDERATION, clock).save(folder / "ca")

    def issue(self, site: str, role: Role) -> Credentials:
        """Return new keys and certificates for a site."""
        own = Path(tempfile.mkdtemp(dir=self._folder))
        issued = self._ca.issue(Identity(FEDERATION, site, role), own, self._clock, days=VALID_DAYS)
        return replace(issued, lists=(self._lists,))

    def revoke(self, credentials: Credentials) -> bytes:
        """Revoke a site's certificates and return the next revocation list."""
        serials = [credentials.tls_cert.serial_number, credentials.signing_cert.serial_number]
        return self._ca.revoke(serials, self._clock)


@dataclass
class Site:
    """One party, and what an administrator remembers about it.

    Attributes:
        name: the site.
        credentials: credentials it signs with now.
        groups: groups of its records.
        records: number of records in each group.
        votes: votes of one person in a query.
        changed: whether its manifest must be registered again.
        head: the audit head that it kept last.
        voted: the batches that it keeps receipts of, oldest first.
        receipts: these receipts, as it hands them in.
        suspended, revoked: whether no one may ask it.
        silent: its groups that are frozen or withdrawn, which may not vote.
    """

    name: str
    credentials: Credentials
    groups: list[str]
    records: int = 50
    votes: int = 1
    changed: bool = True
    head: common_pb2.AuditHead | None = None
    voted: list[Record] = field(default_factory=list)
    receipts: list[common_pb2.Receipt] = field(default_factory=list)
    suspended: bool = False
    revoked: bool = False
    silent: set[str] = field(default_factory=set)

    @property
    def identity(self) -> Identity:
        """Its identity."""
        return self.credentials.identity

    def manifest(self) -> common_pb2.Signed:
        """Return its current manifest, signed."""
        groups = [common_pb2.Group(name=g, records=self.records, teachers=5, copies=1) for g in self.groups]
        manifest = common_pb2.Manifest(
            site=self.name,
            task_digest=TASK,
            groups=groups,
            max_votes_per_person=self.votes,
            training="chaos",
            head="linear",
        )
        return self.credentials.sign(MANIFEST_CONTEXT, manifest.SerializeToString())
