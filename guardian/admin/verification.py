"""`ostraka guardian audit verify`: the ledger against its log, and against heads that parties kept."""

from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.x509.oid import NameOID
from google.protobuf.message import DecodeError

from common.errors import ErrorCode, OstrakaError
from guardian.ledger import verify
from protos.ostraka.v1 import common_pb2


def verify_ledger(ledger: Path, ca: Path, heads: Sequence[Path]) -> dict[str, object]:
    """Verify a ledger file and return what was checked.

    Args:
        ledger: the guardian's ledger.db.
        ca: the federation's CA certificate, PEM.
        heads: files that parties keep, each a serialized AuditHead.

    Raises:
        OstrakaError: `ledger.*`; `data.missing` for a file that is not there.
    """
    ca_pem = _read(ca)
    kept = [_head(path) for path in heads]
    head = verify(ledger, ca_pem=ca_pem, federation=_federation(ca_pem, ca), heads=kept)
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
