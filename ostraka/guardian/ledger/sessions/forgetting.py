"""Deletes released answers after their retention time; charges and digests stay."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import select, update

from ostraka.guardian.ledger.store import kept_answers
from ostraka.guardian.ledger.store.schema import batches
from ostraka.guardian.ledger.transaction import Transaction

PART = 100
"""Batches whose answers one transaction drops: so few that no ticket waits long for it."""


class Dropped(NamedTuple):
    """What a transaction dropped.

    Attributes:
        batches: number of batches with dropped answers.
        last_unix_ms: release time of the last of them; None if there was none.
    """

    batches: int
    last_unix_ms: int | None


def drop_answers(tx: Transaction, before_unix_ms: int, since_unix_ms: int = 0) -> Dropped:
    """Drop answers that were released before a time, from at most `PART` batches, oldest first.

    A batch stays released: its request gets `batch.forgotten` from then on, and is neither charged nor
    answered again. The search skips releases before `since_unix_ms`.
    """
    released = batches.c.released_unix_ms
    old = (released >= since_unix_ms) & (released < before_unix_ms) & kept_answers.are_kept(batches.c.answers)
    found = tx.connection.execute(
        select(batches.c.id, released).where(old).order_by(released).limit(PART).with_for_update()
    ).all()
    if not found:
        return Dropped(0, None)
    size = sum(_drop(tx, row.id) for row in found)
    tx.record("answers_dropped", batches=len(found), bytes=size, released_before_unix_ms=before_unix_ms)
    return Dropped(len(found), found[-1].released_unix_ms)


def _drop(tx: Transaction, batch: int) -> int:
    """Drop the answers of one batch, and return their bytes: only one batch's are in memory at a time."""
    same = batches.c.id == batch
    answers = bytes(tx.connection.execute(select(batches.c.answers).where(same)).scalar_one())
    tx.connection.execute(update(batches).where(same).values(answers=kept_answers.drop(answers)))
    return len(answers)
