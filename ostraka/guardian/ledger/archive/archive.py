"""Archives: one file with the audit log up to a day and everything that had ended by then; verification."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, func, select

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role, verify_signed
from ostraka.common.wire.contexts import ARCHIVE_CONTEXT
from ostraka.guardian.ledger.archive import encoding
from ostraka.guardian.ledger.archive.encoding import Line
from ostraka.guardian.ledger.archive.file import (
    READABLE,
    VERSIONS,
    AlteredError,
    Closing,
    LineReader,
    LineWriter,
    reading,
    writing,
)
from ostraka.guardian.ledger.log import audit, integrity
from ostraka.guardian.ledger.log.audit import GENESIS
from ostraka.guardian.ledger.log.checkpoints import Checkpoint, require_row
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger, digest
from ostraka.guardian.ledger.log.verify import Told, check_signatures, telling
from ostraka.guardian.ledger.reader import LedgerReader, View
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.new_file import new_file
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.store.values import StoredAuditRow
from ostraka.protos.ostraka.v1 import common_pb2


@dataclass(frozen=True)
class Authority:
    """The trusted authority: the CA's certificate (PEM), and the federation that it names."""

    ca_pem: bytes
    federation: str


@dataclass(frozen=True)
class Archive:
    """What a verified archive contains.

    Attributes:
        opening: the closing line of the previous archive, or None if it begins with the log.
        closing: its last line, which contains its checkpoint.
        checkpoint: of its last row.
        first: number of its first audit row.
        sessions: number of sessions that ended in it.
        batches: number of batches that were released or died in it.
        charges: number of these batches' charges above 0.
    """

    opening: Line | None
    closing: Line
    checkpoint: Checkpoint
    first: int
    sessions: int
    batches: int
    charges: int


def check_archive(path: Path, authority: Authority, told: Told = lambda row, last: None) -> Archive:
    """Check an archive by itself, and return what it contains.

    The checks: every audit row's place, hash and signature; the checkpoints at its beginning and end; every
    session, batch and charge against the log's totals, and that none is missing. Signatures are checked as of
    the time that they name. `told` is called after every audit row.

    Raises:
        OstrakaError: `ledger.archive_altered` with the contradiction, `ledger.newer` for a format that this
            version does not know, `data.missing`.
    """
    with reading(path) as lines:
        head = lines.next()
        if head["kind"] != "archive":
            raise integrity.TamperedError("it does not begin as one")
        versions = tuple(head["versions"])
        if versions not in READABLE:
            raise _other_version(path)
        opening = head["opening"]
        replayed = ReplayedLedger()
        first = 1
        previous = GENESIS
        if opening is not None:
            begins = _verify(opening, authority)
            if begins.versions not in READABLE:
                raise _other_version(path)
            replayed = begins.checkpoint.replay()
            first = begins.checkpoint.sequence + 1
            previous = begins.checkpoint.hash
        last = _replay(replayed, lines, head["last"], first, previous, authority, told)
        tally = _Tally(replayed)
        while (line := lines.next())["kind"] != "closing":
            tally.take(line)
        tally.finish()
        closing = _verify(line, authority)
        lines.end()
        if closing.versions != versions:
            raise integrity.TamperedError("its first and its last line name different versions")
        made = Checkpoint.of(replayed, last.sequence, last.hash)
        if closing.in_this_format() != Closing(made, lines.sha256, head["made_unix_ms"]):
            raise integrity.TamperedError("its checkpoint is not what its rows add up to")
    return Archive(opening, line, made, first, tally.sessions, tally.batches, tally.charges)


def check_signer(signed: common_pb2.Signed, at_ms: int, authority: Authority) -> None:
    """Check that a guardian signed for an archive with a certificate valid at a time (unix milliseconds).

    Raises:
        OstrakaError: `identity.expired` and as `verify_signed`.
    """
    verify_signed(
        signed,
        ARCHIVE_CONTEXT,
        ca_pem=authority.ca_pem,
        clock=ManualClock(at_ms / 1000),
        federation=authority.federation,
        role=Role.GUARDIAN,
    )


def check_follows(path: Path, archive: Archive, before: Archive) -> None:
    """Check that an archive begins with the closing line of the previous one, `before`.

    Raises:
        OstrakaError: `ledger.archive_altered`.
    """
    if archive.opening != before.closing:
        raise OstrakaError(
            ErrorCode.LEDGER_ARCHIVE_ALTERED,
            f"The archive {path} begins with audit row {archive.first} and does not continue the one before"
            f" it, which ends with row {before.checkpoint.sequence}; name all archives, the oldest first.",
        )


def check_ledger(
    where: Path | str, begins: Checkpoint, authority: Authority, told: Told = lambda row, last: None
) -> common_pb2.AuditHead:
    """Check that a ledger continues from an archive's checkpoint, and return its head.

    Every later row is checked as `verify` does, and all tables are compared with the checkpoint plus these
    rows. For what had ended by then, the check compares the number of rows and the sum of every unit's
    charges.

    Raises:
        OstrakaError: `ledger.tampered` naming the contradiction; and as `verify`.
    """
    storage = open_storage(where, read_only=True)
    try:
        with storage.read() as connection:
            schema_version.check_schema(connection, storage.name)
            storage.check_health(connection)
            require_row(connection, begins)
            replayed = begins.replay()
            rows = integrity.chain(connection, begins.sequence + 1, begins.hash)
            checked = check_signatures(rows, authority.ca_pem, authority.federation)
            integrity.replay(replayed, telling(checked, audit.last(connection), told))
            integrity.compare(connection, replayed)
            return audit.head(View(connection, None))
    finally:
        storage.close()


def _replay(
    replayed: ReplayedLedger,
    lines: LineReader,
    last: int,
    first: int,
    previous: bytes,
    authority: Authority,
    told: Told,
) -> StoredAuditRow:
    """Read the rows from the `first` to the `last` one into `replayed`, and return the last."""
    found: StoredAuditRow | None = None

    def read() -> Iterator[StoredAuditRow]:
        nonlocal found
        for _ in range(first, last + 1):
            found = encoding.audit_row(lines.next())
            yield found

    rows = integrity.check_chain(read(), first, previous)
    signed = check_signatures(rows, authority.ca_pem, authority.federation)
    integrity.replay(replayed, telling(signed, last, told))
    if found is None:
        raise integrity.TamperedError("it has no audit rows")
    return found


class _Tally:
    """Everything that has ended in a replay; an archive must contain each item once, as logged."""

    def __init__(self, replayed: ReplayedLedger) -> None:
        self._replayed = replayed
        self._sessions = {key: found for key, found in replayed.sessions.items() if found.state != "open"}
        self._batches = {key: found for key, found in replayed.batches.items() if found.state != "ticketed"}
        self.sessions = len(self._sessions)
        self.batches = len(self._batches)
        self.charges = 0

    def take(self, line: Line) -> None:
        """Take a line's content; raise `ledger.tampered` if it differs from the log."""
        match line["kind"]:
            case "session":
                session = encoding.session(line)
                if self._sessions.pop(session.session, None) != session:
                    raise integrity.TamperedError(f"session {session.session} is not what the audit log says")
            case "batch":
                batch, charges, owed = encoding.batch(line)
                key = (batch.session, batch.batch)
                logged = (self._batches.pop(key, None), self._replayed.charges.get(key))
                found = (batch, digest(charges) if charges else None)
                if logged != found or self._replayed.evaluated.get(key, {}) != owed:
                    raise integrity.TamperedError(f"batch {key[0]}/{key[1]} is not what the audit log says")
                self.charges += sum(amounts.worst_case > 0 for amounts in charges.values())
            case _:
                raise integrity.TamperedError("it has a line of no kind that Ostraka writes")

    def finish(self) -> None:
        """Raise `ledger.tampered` if something was not taken."""
        for missing in [*self._sessions, *(f"{session}/{batch}" for session, batch in self._batches)]:
            raise integrity.TamperedError(f"{missing} is missing")


def _verify(line: Line, authority: Authority) -> Closing:
    """Return the content of a closing line, which a guardian signed at the time that it names."""
    closing, signed = Closing.read(line)
    try:
        check_signer(signed, closing.made_unix_ms, authority)
    except OstrakaError as exc:
        raise integrity.TamperedError("its checkpoint is not signed by the guardian") from exc
    return closing


def _other_version(path: Path) -> OstrakaError:
    return OstrakaError(
        ErrorCode.LEDGER_NEWER,
        f"The archive {path} was written by a later version of Ostraka; verify it with that version or a"
        " later one.",
    )


@dataclass(frozen=True)
class Archivist:
    """The writer of an archive, and the time.

    Attributes:
        now_ms: the time, in unix milliseconds.
        sign: signs a payload under ostraka.common.wire.contexts.ARCHIVE_CONTEXT.
        authority: the authority that verifies the finished archive.
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
    """Write the audit log up to a time, and all that had ended by then, to a new file, and verify it.

    The ledger does not change, and may be in use. The file appears at `path` when it is complete and
    verified.

    Args:
        ledger: the ledger whose log is archived.
        path: the file to write; it must not exist.
        before_ms: the time in unix milliseconds; the first row not before it and all later rows stay out.
        archivist: the writer.
        after: the previous archive, which this one continues; None to begin with the log's first row.
        told: called after every row, first while writing, then while verifying.

    Raises:
        OstrakaError: `config.invalid` if there is nothing to archive; `ledger.tampered` if the ledger does
            not continue from `after`, or contradicts itself; `identity.expired` for the guardian's
            certificate; and as `new_file`.
    """
    check_signer(archivist.sign(b""), archivist.now_ms, archivist.authority)
    with new_file(path, "archive") as unfinished:
        with writing(unfinished) as lines:
            ledger.read(_write, lines, before_ms, archivist, after, told)
        try:
            return check_archive(unfinished, archivist.authority, told)
        except AlteredError as exc:
            raise integrity.TamperedError(exc.what) from exc


def _write(
    view: View, lines: LineWriter, before_ms: int, archivist: Archivist, after: Archive | None, told: Told
) -> None:
    connection = view.connection
    replayed = ReplayedLedger()
    sequence = 0
    digest = GENESIS
    if after is not None:
        require_row(connection, after.checkpoint)
        replayed = after.checkpoint.replay()
        sequence = after.checkpoint.sequence
        digest = after.checkpoint.hash
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
        integrity.replay(replayed, [row])
        lines.write(encoding.of_audit(row))
        sequence = row.sequence
        digest = row.hash
    if sequence != last:
        raise integrity.TamperedError(f"audit row {last} is missing")
    for line in _over(connection, replayed):
        lines.write(line)
    made = Checkpoint.of(replayed, last, digest)
    end = Closing(made, lines.sha256, archivist.now_ms)
    lines.write(end.line(archivist.sign(end.payload())))


def _over(connection: Connection, replayed: ReplayedLedger) -> Iterator[Line]:
    """Yield the lines of sessions and batches that have ended in `replayed`: they change no more."""
    ended = [key for key, session in replayed.sessions.items() if session.state != "open"]
    settled = [key for key, batch in replayed.batches.items() if batch.state != "ticketed"]
    yield from encoding.of_sessions(connection, ended)
    yield from encoding.of_batches(connection, settled)


def _last_before(connection: Connection, before_ms: int) -> int:
    """Return the number of the last row before the first row that is not before a time."""
    beyond = select(func.min(audit_table.c.sequence)).where(audit_table.c.time_unix_ms >= before_ms)
    first: int | None = connection.execute(beyond).scalar_one()
    return audit.last(connection) if first is None else first - 1


def _nothing(sequence: int) -> OstrakaError:
    after = f" after row {sequence}, which the archive before ends with" if sequence else ""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID, f"The audit log has no rows before that day{after}; name a later day."
    )
