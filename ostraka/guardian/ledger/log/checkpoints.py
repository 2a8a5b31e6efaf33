"""Checkpoints: how far a guardian has checked its ledger against the audit log, under its own signature.

With a checkpoint the next start need not read the log from its first row. It is trusted only if a guardian of
the federation signed it for this ledger, and never against the log: if anything does not match, the whole log
is read, and decides.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

from google.protobuf.message import DecodeError
from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger.log import audit, checkpoint_state, integrity
from ostraka.guardian.ledger.log.audit import GENESIS, sha256
from ostraka.guardian.ledger.log.replayed_ledger import ReplayedLedger
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION, checkpoints, meta
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.protos.ostraka.v1 import common_pb2

ROWS = 200
"""A running guardian writes a checkpoint every this many rows of the audit log."""


@dataclass(frozen=True)
class Seal:
    """A guardian's signature over checkpoints.

    Attributes:
        sign: signs a payload under ostraka.common.wire.contexts.CHECKPOINT_CONTEXT.
        verify: raises OstrakaError unless a guardian of the federation signed under that context.
    """

    sign: Callable[[bytes], common_pb2.Signed]
    verify: Callable[[common_pb2.Signed], object]


@dataclass(frozen=True)
class Checkpoint:
    """The log's state at its row `sequence` with `hash`, in the ledger `ledger_id` (hex).

    `format` is the format of `state`: this version's, or an older one that this version reads.
    """

    ledger_id: str
    sequence: int
    hash: bytes
    state: str
    format: int = checkpoint_state.FORMAT

    @classmethod
    def of(cls, replayed: ReplayedLedger, sequence: int, digest: bytes) -> Self:
        """Return the checkpoint of a replay up to a row and its hash."""
        return cls(replayed.head.ledger_id, sequence, digest, checkpoint_state.encode(replayed))

    def replay(self) -> ReplayedLedger:
        """Return the replay to continue with after the row; as `checkpoint_state.decode`."""
        return checkpoint_state.decode(self.state, self.format)

    def in_this_format(self) -> Self:
        """Return the same with the state in this version's format, for comparison; as `replay`."""
        if self.format == checkpoint_state.FORMAT:
            return self
        state = checkpoint_state.encode(self.replay())
        return replace(self, state=state, format=checkpoint_state.FORMAT)

    def payload(self) -> bytes:
        """Return the payload to sign."""
        signed = {
            "format": self.format,
            "hash": self.hash.hex(),
            "ledger": self.ledger_id,
            "schema": SCHEMA_VERSION,
            "sequence": self.sequence,
            "state_sha256": sha256(self.state.encode()),
        }
        return json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()


def check(connection: Connection, seal: Seal) -> Checkpoint:
    """Compare the tables with the audit log, from its last checkpoint on, and return the next checkpoint.

    From a checkpoint on, the comparison covers everything except sessions, batches, charges and evaluations
    that had ended by then; for these it covers their number and the sum of every unit's charges. Without a
    checkpoint, or if anything differs, it covers everything.

    Raises:
        OstrakaError: `ledger.tampered` naming the first row that differs, or if the log is not the one whose
            checkpoint a guardian signed.
    """
    found = _load_verified(connection, seal)
    if found is not None:
        require_row(connection, found)
        try:
            return _read(connection, found, compare=True)
        except OstrakaError:
            pass  # the whole log decides, and names the row
    return _read(connection, None, compare=True)


def next_of(connection: Connection, seal: Seal) -> Checkpoint | None:
    """Return a checkpoint of the log's head if the last one is at least ROWS rows back, else None.

    It is the last checkpoint plus the log's rows since. None also if there is no usable checkpoint: the next
    start then reads the whole log.

    Raises:
        OstrakaError: `ledger.tampered` if the log does not match the last checkpoint.
    """
    last = connection.execute(select(checkpoints.c.sequence)).scalar_one_or_none()
    if last is None or audit.last(connection) < last + ROWS:
        return None
    found = _load_verified(connection, seal)
    if found is None:
        return None
    require_row(connection, found)
    return _read(connection, found, compare=False)


def store(tx: Transaction, seal: Seal, made: Checkpoint) -> None:
    """Store a checkpoint in place of the last one."""
    signed = seal.sign(made.payload()).SerializeToString()
    content = {"sequence": made.sequence, "state": made.state, "signed": signed}
    insert = postgresql.insert if tx.connection.dialect.name == "postgresql" else sqlite.insert
    row = insert(checkpoints).values(id=1, **content)
    tx.connection.execute(row.on_conflict_do_update(index_elements=["id"], set_=content))


def load(connection: Connection) -> Checkpoint | None:
    """Return the last checkpoint, without checking its signer.

    None if there is none, or none of this ledger in a format that this version reads.
    """
    found = _load_signed(connection)
    return None if found is None else found[0]


def _load_verified(connection: Connection, seal: Seal) -> Checkpoint | None:
    """Return the last checkpoint if a guardian signed it, else None."""
    found = _load_signed(connection)
    if found is None:
        return None
    try:
        seal.verify(found[1])
    except OstrakaError:
        return None
    return found[0]


def _load_signed(connection: Connection) -> tuple[Checkpoint, common_pb2.Signed] | None:
    row = connection.execute(select(checkpoints)).one_or_none()
    if row is None:
        return None
    ledger_id = connection.execute(select(meta.c.ledger_id)).scalar_one().hex()
    try:
        signed = common_pb2.Signed.FromString(row.signed)
        told = json.loads(signed.payload)
        digest = bytes.fromhex(told["hash"])
        version = told["format"]
    except (DecodeError, LookupError, TypeError, ValueError):
        return None
    found = Checkpoint(ledger_id, row.sequence, digest, row.state, version)
    readable = version in checkpoint_state.READABLE and found.payload() == signed.payload
    return (found, signed) if readable else None


def require_row(connection: Connection, found: Checkpoint) -> None:
    """Raise `ledger.tampered` unless the log has the row for which a checkpoint was signed."""
    same = select(audit_table.c.hash).where(audit_table.c.sequence == found.sequence)
    if connection.execute(same).scalar_one_or_none() != found.hash:
        raise integrity.TamperedError(
            f"audit row {found.sequence} is not the one that a guardian signed a checkpoint for"
        )


def _read(connection: Connection, last: Checkpoint | None, *, compare: bool) -> Checkpoint:
    """Read the log from a checkpoint on, or the whole log, and return the checkpoint of its head."""
    replayed = ReplayedLedger()
    sequence = 0
    digest = GENESIS
    if last is not None:
        try:
            replayed = last.replay()
        except (LookupError, TypeError, ValueError):
            raise integrity.TamperedError("its checkpoint is none that Ostraka writes") from None
        sequence = last.sequence
        digest = last.hash
    for row in integrity.chain(connection, sequence + 1, digest):
        integrity.replay(replayed, [row])
        sequence = row.sequence
        digest = row.hash
    made = Checkpoint.of(replayed, sequence, digest)
    if compare:
        integrity.compare(connection, replayed)
    return made
