"""`ostraka guardian audit verify`: checks a ledger against its log, and against heads that parties kept."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID
from google.protobuf.message import DecodeError

from ostraka.common.config import load_site
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import read_bytes
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import CA_CERT
from ostraka.guardian import ledger
from ostraka.guardian.ledger import StoredAuditRow
from ostraka.guardian.ledger.log.verify import Told
from ostraka.guardian.ledger.site import ledger_location
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2


@dataclass(frozen=True)
class AuditCheck:
    """A verified audit log: its number of `entries`, its `head` (hex), and the number of kept heads in it."""

    entries: int
    head: str
    heads_checked: int


def locate(
    ledger: Path | None, site: Path | None, url: str | None, ca: Path | None
) -> tuple[Path | str, Path]:
    """Where a ledger is, and the CA certificate to check it against.

    Args:
        ledger: a SQLite file.
        site: a guardian's folder; its site.toml says where its ledger is.
        url: a PostgreSQL ledger; `ca` is then required.
        ca: the federation's CA certificate; else `ca.crt` beside the file or in the folder.

    Raises:
        OstrakaError: `config.invalid` unless exactly one of `ledger`, `site` and `url` is given.
    """
    if sum(place is not None for place in (ledger, site, url)) != 1:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "Say where the ledger is by one of --ledger, --site and --url."
        )
    if ledger is not None:
        return ledger, ca or ledger.parent / CA_CERT
    if site is not None:
        return ledger_location(site), ca or site / load_site(site).credentials / CA_CERT
    if url is None or ca is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "With --url, name the federation's ca.crt by --ca.")
    return url, ca


def verify_ledger(
    where: Path | str, ca: Path, heads: Sequence[Path], told: Told = lambda row, last: None
) -> AuditCheck:
    """Verify a ledger and return what was checked.

    Args:
        where: the guardian's ledger.db, or the URL of a PostgreSQL ledger.
        ca: the federation's CA certificate, PEM.
        heads: files that parties keep, each a serialized AuditHead.
        told: called with every checked audit row, and the last row.

    Raises:
        OstrakaError: `ledger.*`; `data.missing` for a missing file.
    """
    ca_pem = read_bytes(ca)
    kept = [read_head(read_bytes(path), str(path)) for path in heads]
    federation = federation_of(ca_pem, ca)
    head = ledger.verify(where, ca_pem=ca_pem, federation=federation, heads=kept, told=told)
    return AuditCheck(head.sequence, head.hash.hex(), len(kept))


def verify_export(
    rows: Iterable[admin_pb2.AuditRow],
    credentials: Credentials,
    heads: Sequence[common_pb2.AuditHead] = (),
) -> int:
    """Verify all rows that a guardian exported, against the CA of `credentials`; return their number.

    Raises:
        OstrakaError: `ledger.tampered` naming the first bad row; `message.invalid` for a kept head that no
            guardian signed.
    """
    return ledger.verify_export(
        map(_audit_row, rows),
        ca_pem=credentials.ca_pem,
        federation=credentials.identity.federation,
        heads=heads,
    )


def read_head(content: bytes, name: str) -> common_pb2.AuditHead:
    """Read a head that a party kept; raises `data.unreadable`, naming the file, if it is not a head."""
    try:
        return common_pb2.AuditHead.FromString(content)
    except DecodeError as exc:
        raise OstrakaError(ErrorCode.DATA_UNREADABLE, f"{name} is not an audit head.") from exc


def _audit_row(row: admin_pb2.AuditRow) -> StoredAuditRow:
    return StoredAuditRow(
        sequence=row.sequence,
        time_unix_ms=row.time_unix_ms,
        payload=row.payload,
        previous=row.previous,
        hash=row.hash,
        signed=row.signed.SerializeToString(),
    )


def federation_of(ca_pem: bytes, path: Path) -> str:
    """Return the federation of a CA's certificate; raises `data.unreadable`, naming `path`, for none."""
    try:
        subject = x509.load_pem_x509_certificate(ca_pem).subject
        return str(subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value)
    except (ValueError, IndexError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is not a federation's CA certificate; name ca.crt with --ca."
        ) from exc
