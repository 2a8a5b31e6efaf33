"""`ostraka guardian audit verify`: the ledger against its log, and against heads that parties kept."""

from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID
from google.protobuf.message import DecodeError

from common.errors import ErrorCode, OstrakaError
from common.identity.credentials import CA_CERT
from guardian.ledger import verify
from guardian.ledger.site import ledger_location
from protos.ostraka.v1 import common_pb2


def locate(
    ledger: Path | None, site: Path | None, url: str | None, ca: Path | None
) -> tuple[Path | str, Path]:
    """Where a ledger is, and the CA certificate to check it against.

    Args:
        ledger: a SQLite file.
        site: a guardian's folder, whose site.toml says where its ledger is.
        url: a PostgreSQL ledger; `ca` is then needed.
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
        return ledger_location(site), ca or site / CA_CERT
    if url is None or ca is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "With --url, name the federation's ca.crt by --ca.")
    return url, ca


def verify_ledger(where: Path | str, ca: Path, heads: Sequence[Path]) -> dict[str, object]:
    """Verify a ledger and return what was checked.

    Args:
        where: the guardian's ledger.db, or the URL of a PostgreSQL ledger.
        ca: the federation's CA certificate, PEM.
        heads: files that parties keep, each a serialized AuditHead.

    Raises:
        OstrakaError: `ledger.*`; `data.missing` for a file that is not there.
    """
    ca_pem = _read(ca)
    kept = [_head(path) for path in heads]
    head = verify(where, ca_pem=ca_pem, federation=_federation(ca_pem, ca), heads=kept)
    return {"entries": head.sequence, "head": head.hash.hex(), "heads_checked": len(kept)}


def _federation(ca_pem: bytes, path: Path) -> str:
    try:
        subject = x509.load_pem_x509_certificate(ca_pem).subject
        return str(subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)[0].value)
    except (ValueError, IndexError) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE, f"{path} is no federation's CA certificate; name ca.crt with --ca."
        ) from exc


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as exc:
        raise OstrakaError(
            ErrorCode.DATA_MISSING, f"{path} cannot be read ({exc.strerror}); check its path."
        ) from exc


def _head(path: Path) -> common_pb2.AuditHead:
    try:
        return common_pb2.AuditHead.FromString(_read(path))
    except DecodeError as exc:
        raise OstrakaError(ErrorCode.DATA_UNREADABLE, f"{path} is no audit head.") from exc
