"""Archives: what a ledger's audit log had by a day, and everything that was over then, in one file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.archive import encoding
from ostraka.guardian.ledger.archive.check import Archive, Authority, check_archive, check_signer
from ostraka.guardian.ledger.archive.encoding import Line
from ostraka.guardian.ledger.archive.file import VERSIONS, AlteredError, Closing, LineWriter, writing
from ostraka.guardian.ledger.log import audit, checkpoint_state, integrity
from ostraka.guardian.ledger.log.audit import GENESIS
from ostraka.guardian.ledger.log.checkpoints import Checkpoint, require_row
from ostraka.guardian.ledger.log.replay import Books
from ostraka.guardian.ledger.log.verify import Told, telling
from ostraka.guardian.ledger.reader import LedgerReader
from ostraka.guardian.ledger.store.new_file import new_file
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.view import View
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Archivist:
    """Who writes an archive, and when.

    Attributes:
        now_ms: the time, in unix milliseconds.
        sign: signs a payload under ostraka.common.wire.contexts.ARCHIVE_CONTEXT.
        authority: whose signatures the finished archive is verified by.
    """

    now_ms: int
    sign: Callable[[bytes], common_pb2.Signed]
    authority: Authority


def archive(
    ledger: LedgerReader,
    path: Path,
    before_ms: int,
    archivist: Archivist,
    after: Archive | None = None,
    told: Told = lambda row, last: None,
) -> Archive:
    """Write the audit log up to a time, and all that was over by then, to a new file, and verify it.

    The ledger stays as it is, and may be in use. The file appears at `path` once it is whole and verified.

    Args:
        ledger: whose log is archived.
        path: where no file is yet.
        before_ms: rows from the first one on that is not before this time stay out, in unix milliseconds.
        archivist: who writes it.
        after: the archive before it, which it continues; None to begin with the log's first row.
        told: is called after every row, first of those written, then of those verified.

    Raises:
        OstrakaError: `config.invalid` where there is nothing to archive, `ledger.tampered` where the ledger
            does not continue from `after`, or contradicts itself, `identity.expired` for the guardian's
            certificate; and as `new_file`.
    """
    check_signer(archivist.sign(b""), archivist.now_ms, archivist.authority)
    with new_file(path, "archive") as unfinished:
        with writing(unfinished) as lines:
            ledger.read(_write, lines, before_ms, archivist, after, told)
        try:
            return check_archive(unfinished, archivist.authority, told)
        except AlteredError as exc:
            raise integrity.tampered(exc.what) from exc


def _write(
    view: View, lines: LineWriter, before_ms: int, archivist: Archivist, after: Archive | None, told: Told
) -> None:
    connection, books = view.connection, Books()
    sequence, digest = 0, GENESIS
    if after is not None:
        require_row(connection, after.checkpoint)
        books = checkpoint_state.decode(after.checkpoint.state)
        sequence, digest = after.checkpoint.sequence, after.checkpoint.hash
    last = _last_before(connection, before_ms)
    if last <= sequence:
        raise _nothing(sequence)
    lines.write(
        {
            "kind": "archive",
            "versions": VERSIONS,
            "first": sequence + 1,
            "last": last,
            "before_unix_ms": before_ms,
            "made_unix_ms": archivist.now_ms,
            "opening": None if after is None else after.closing,
        }
    )
    for row in telling(integrity.chain(connection, sequence + 1, digest, last), last, told):
        integrity.replay(books, [row])
        lines.write(encoding.of_audit(row))
        sequence, digest = row.sequence, row.hash
    if sequence != last:
        raise integrity.tampered(f"audit row {last} is missing")
    for line in _over(connection, books):
        lines.write(line)
    made = Checkpoint(books.head[0], last, digest, checkpoint_state.encode(books))
    end = Closing(made, lines.sha256, archivist.now_ms)
    lines.write(end.line(archivist.sign(end.payload())))


def _over(connection: Connection, books: Books) -> Iterator[Line]:
    """Yield the lines of sessions and batches that are over in `books`: nothing changes them any more."""
    ended = [key for key, session in books.sessions.items() if session.state != "open"]
    settled = [key for key, batch in books.batches.items() if batch.state != "ticketed"]
    yield from encoding.of_sessions(connection, ended)
    yield from encoding.of_settled(connection, settled)


def _last_before(connection: Connection, before_ms: int) -> int:
    """Return the number of the last row before the first that is not before a time."""
    beyond = select(func.min(audit_table.c.sequence)).where(audit_table.c.time_unix_ms >= before_ms)
    first: int | None = connection.execute(beyond).scalar_one()
    return audit.last(connection) if first is None else first - 1


def _nothing(sequence: int) -> OstrakaError:
    after = f" after row {sequence}, which the archive before ends with" if sequence else ""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID, f"The audit log has no rows before that day{after}; name a later day."
    )
