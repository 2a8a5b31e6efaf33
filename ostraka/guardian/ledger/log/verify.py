"""Verification of a ledger by someone who does not trust its holder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from google.protobuf.message import DecodeError
from sqlalchemy import Connection

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role, verify_signed
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.ledger.log import audit, checkpoint_state, checkpoints, integrity
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.store.values import StoredAuditRow
from ostraka.protos.ostraka.v1 import common_pb2

Told = Callable[[int, int], object]
"""Called with the number of the checked row, and of the last row."""


def verify(
    where: Path | str,
    *,
    ca_pem: bytes,
    federation: str,
    heads: Sequence[common_pb2.AuditHead] = (),
    told: Told = lambda row, last: None,
) -> common_pb2.AuditHead:
    """Check the whole ledger at `where`, also while a guardian serves from it, and return its head.

    The checks: every audit row's place, hash and signature; every table, including the last checkpoint,
    against the replayed log; and that `heads`, which parties kept from acknowledgements, are on the chain.
    Signatures are checked as of the time that their row names, so certificates may have expired since. `told`
    is called after every audit row.

    Raises:
        OstrakaError: `ledger.tampered` naming the first bad row, `ledger.missing`, `ledger.newer`,
            `ledger.older`, `ledger.locked`, `ledger.unreachable`; `message.invalid` for a kept head that no
            guardian signed.
    """
    storage = open_storage(where, read_only=True)
    try:
        with storage.read() as connection:
            schema_version.check_schema(connection, storage.name)
            storage.check_health(connection)
            last = audit.last(connection)
            rows = check_signatures(integrity.chain(connection), ca_pem, federation, heads)
            replayed = ReplayedLedger()
            _replay(connection, replayed, telling(rows, last, told))
            integrity.compare(connection, replayed)
            return audit.head(View(connection, None))
    finally:
        storage.close()


def verify_export(
    rows: Iterable[StoredAuditRow],
    *,
    ca_pem: bytes,
    federation: str,
    heads: Sequence[common_pb2.AuditHead] = (),
) -> int:
    """Check all rows of an exported log as `verify` does, except the tables, and return their number.

    Raises:
        OstrakaError: `ledger.tampered` naming the first bad row; `message.invalid` for a kept head that no
            guardian signed.
    """
    return sum(1 for _ in check_signatures(integrity.check_chain(rows), ca_pem, federation, heads))


def _replay(connection: Connection, replayed: ReplayedLedger, rows: Iterator[integrity.AuditRow]) -> None:
    """Read the whole log, and compare the last checkpoint with it on the way."""
    found = checkpoints.load(connection)
    if found is not None:
        integrity.replay(replayed, islice(rows, found.sequence))
        if not _says(found, replayed):
            raise integrity.TamperedError(
                f"the checkpoint of audit row {found.sequence} is not what the audit log says"
            )
    integrity.replay(replayed, rows)


def _says(found: checkpoints.Checkpoint, replayed: ReplayedLedger) -> bool:
    """Whether a checkpoint has the state of a replay up to its row."""
    try:
        return found.in_this_format().state == checkpoint_state.encode(replayed)
    except (LookupError, TypeError, ValueError):
        return False


def telling(rows: Iterator[integrity.Link], last: int, told: Told) -> Iterator[integrity.Link]:
    """Yield `rows`, and call `told` after each with its number and the `last` one."""
    for row in rows:
        yield row
        told(row.sequence, last)


def check_signatures(
    rows: Iterator[integrity.Link],
    ca_pem: bytes,
    federation: str,
    heads: Sequence[common_pb2.AuditHead] = (),
) -> Iterator[integrity.Link]:
    """Yield `rows` of a log, each after its signature is checked; check that `heads` are among them.

    Raises:
        OstrakaError: `ledger.tampered` naming the first bad row; `message.invalid` for a kept head that no
            guardian signed.
    """
    kept = sorted(heads, key=lambda head: head.sequence)
    for row in rows:
        _check_signature(row, ca_pem, federation)
        while kept and kept[0].sequence <= row.sequence:
            _check_kept(kept.pop(0), row, ca_pem, federation)
        yield row
    for head in kept:
        _check_kept(head, row, ca_pem, federation)


def _check_signature(row: integrity.Link, ca_pem: bytes, federation: str) -> None:
    try:
        signed = common_pb2.Signed.FromString(row.signed)
    except DecodeError:
        raise integrity.TamperedError(f"audit row {row.sequence} has no signature") from None
    if signed.payload != audit.head_payload(row.sequence, row.hash):
        raise integrity.TamperedError(f"audit row {row.sequence} carries the signature of another row")
    try:
        _verify(signed, row.time_unix_ms, ca_pem, federation)
    except OstrakaError as exc:
        raise integrity.TamperedError(f"audit row {row.sequence} is not signed by the guardian") from exc


def _check_kept(head: common_pb2.AuditHead, row: integrity.Link, ca_pem: bytes, federation: str) -> None:
    if (head.sequence, head.hash) == (row.sequence, row.hash):
        return
    if head.signed.payload != audit.head_payload(head.sequence, head.hash):
        raise _invalid_head(head)
    try:
        _verify(head.signed, row.time_unix_ms, ca_pem, federation)
    except OstrakaError as exc:
        raise _invalid_head(head) from exc
    what = "was rewritten" if head.sequence <= row.sequence else "is missing"
    raise integrity.TamperedError(f"audit row {head.sequence}, whose signed head a party kept, {what}")


def _invalid_head(head: common_pb2.AuditHead) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MESSAGE_INVALID,
        f"The kept audit head {head.sequence} is not signed by the guardian; leave it out, or give the"
        " file as the party wrote it.",
    )


def _verify(signed: common_pb2.Signed, time_unix_ms: int, ca_pem: bytes, federation: str) -> None:
    verify_signed(
        signed,
        AUDIT_CONTEXT,
        ca_pem=ca_pem,
        clock=ManualClock(time_unix_ms / 1000),
        federation=federation,
        role=Role.GUARDIAN,
        invalid=ErrorCode.LEDGER_TAMPERED,
    )
