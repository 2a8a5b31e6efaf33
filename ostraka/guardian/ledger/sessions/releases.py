"""Checks that are charged before a batch's release, and releases: one transaction each, once per batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlalchemy import update

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.sessions import batches, charging, endings, evaluations, sessions
from ostraka.guardian.ledger.store.amounts import add
from ostraka.guardian.ledger.store.schema import batches as batch_table
from ostraka.guardian.ledger.store.session_values import StoredSession
from ostraka.guardian.ledger.store.values import Charge, UnitKey
from ostraka.guardian.ledger.transaction import CommittedError, Transaction
from ostraka.guardian.ledger.units import units


def release(
    tx: Transaction,
    session: StoredSession,
    batch_id: int,
    request_digest: bytes,
    answers: bytes,
    charges: Sequence[Charge],
    *,
    answered: int,
    vanish: bool = False,
) -> bytes:
    """Store a batch's answers with its final charge, and return the answers that may be sent.

    Repeating the request returns the stored answers and costs nothing. Units of the ticket that `charges`
    leaves out are charged nothing, or the batch's worst cost if their party evaluated it. A unit that was
    frozen or withdrawn since the ticket is charged, because its votes are counted. The charge includes the
    earlier charge of the batch's check.

    If a data-dependent budget has no room for the largest cost of any answers, no answer is stored and every
    budget that was too small is used up. Then the session ends or, with `vanish`, the batch is dead. The stop
    depends on the votes, so a unit may cause only one stop. Otherwise a querying party could shift its sums
    and ask again until one fits, which reveals votes at no cost.

    Args:
        tx: a transaction in which this replica holds the session.
        session: the batch's session.
        batch_id: a ticketed batch.
        request_digest: SHA-256 of the request's content.
        answers: the reply, byte for byte.
        charges: the cost to each unit; in the worst case at most the reservation.
        answered: number of the batch's queries that have an answer.
        vanish: whether the session continues without units whose budget is used up.

    Raises:
        OstrakaError: `batch.altered`, `batch.dead`, `ticket.invalid` (never opened), `session.closed`,
            `session.ended`, `budget.missing`.
        ValueError: empty charges, a repeated unit, or a charge above a unit's reservation or below its
            check's charge.
    """
    found = batches.find(tx.connection, session.session_id, batch_id)
    before = batches.answers_of(found, batch_id, request_digest)
    if before is not None:
        return before
    batch = batches.require_ticketed(session, found, batch_id)
    held = charging.reservations_of(tx, batch)
    costs = charging.costs_of(held, charges)
    left_out = _costs_without_votes(tx, batch, charges)
    costs |= evaluations.worst_charges(left_out)
    rows = units.require(tx.connection, costs)
    charging.check_enforced(rows, held)
    short = _short(tx, {key: row for key, row in rows.items() if key not in left_out}, costs)
    if short:
        units.exhaust(tx, rows.values(), short)
        raise CommittedError(_stop(tx, session, batch_id, vanish=vanish))
    charging.charge(tx, batch, rows, held, costs)
    evaluations.mark(tx, batch, left_out)
    tx.connection.execute(
        update(batch_table)
        .where(batch_table.c.id == batch.id)
        .values(
            state="released",
            request_digest=request_digest,
            answers=answers,
            answered=answered,
            released_unix_ms=tx.now_ms,
        )
    )
    tx.record(
        "batch_released",
        session=session.session_id,
        batch=batch_id,
        request_sha256=request_digest.hex(),
        answers_sha256=sha256(answers),
        answered=answered,
        charged=[[*key, add(0, costs[key].worst_case)] for key in rows],
        **({"left_out": [[*key] for key in left_out]} if left_out else {}),
    )
    return answers


def check(
    tx: Transaction,
    session: StoredSession,
    batch_id: int,
    request_digest: bytes,
    charges: Sequence[Charge],
) -> None:
    """Charge a batch for its check from its reservations; the rest stays reserved until its release.

    This is for blind tallies, whose check is answered before the rest is known. The charge stays whatever
    becomes of the batch, and the later charge of `release` includes it. Repeating the request costs nothing.

    Args:
        tx: a transaction in which this replica holds the session.
        session: the batch's session.
        batch_id: a ticketed batch.
        request_digest: SHA-256 of the request's content.
        charges: the cost of the check to each unit; units of the ticket that are left out pay nothing.

    Raises:
        OstrakaError: `batch.altered`, `batch.dead`, `ticket.invalid` (never opened), `session.closed`,
            `session.ended`.
        ValueError: empty charges, a repeated unit, or a charge above a unit's reservation.
    """
    found = batches.find(tx.connection, session.session_id, batch_id)
    batch = batches.require_ticketed(session, found, batch_id)
    if batch.check_digest == request_digest:
        return
    if batch.check_digest is not None or batch.state == "released":
        raise batches.other_content(batch_id)
    held = charging.reservations_of(tx, batch)
    costs = charging.costs_of(held, charges)
    if costs.keys() != held.keys():
        raise ValueError("charges: nothing was reserved for some of the units")
    rows = units.require(tx.connection, costs)
    charging.charge_checks(tx, batch, rows, costs)
    changed = update(batch_table).where(batch_table.c.id == batch.id)
    tx.connection.execute(changed.values(check_digest=request_digest, checked_unix_ms=tx.now_ms))
    tx.record(
        "batch_checked",
        session=session.session_id,
        batch=batch_id,
        request_sha256=request_digest.hex(),
        charged=[[*key, costs[key].worst_case] for key in rows],
    )


def _stop(tx: Transaction, session: StoredSession, batch_id: int, *, vanish: bool) -> OstrakaError:
    """Kill the batch or end its session, and return the corresponding error."""
    if vanish:
        endings.kill(tx, session.session_id, batch_id)
        return batches.dead(batch_id)
    endings.end(tx, session)
    return sessions.session_ended(session.session_id)


def _costs_without_votes(
    tx: Transaction, batch: batches.BatchRow, charges: Sequence[Charge]
) -> dict[UnitKey, int]:
    """Return the worst cost to units whose party evaluated a batch that is released without its votes."""
    charged = {charge.unit for charge in charges}
    return {key: worst for key, worst in evaluations.worst_costs_of(tx, batch).items() if key not in charged}


def _short(
    tx: Transaction, rows: Mapping[UnitKey, units.UnitRow], costs: Mapping[UnitKey, Charge]
) -> set[UnitKey]:
    """Return the units whose data-dependent budget has no room for the costliest answers.

    If a budget was used up before, the batch is dead anyway, and the other budgets are not tested.
    """
    short = {
        key: row
        for key, row in rows.items()
        if row.enforce == "data_dependent" and _spending_after(tx, row, costs[key]) > row.budget
    }
    before = {key for key, row in short.items() if units.is_exhausted(tx.cipher, row)}
    return before or set(short)


def _spending_after(tx: Transaction, row: units.UnitRow, cost: Charge) -> int:
    spent = units.data_dependent_total(tx.cipher, row)
    return add(spent, max(cost.data_dependent, cost.at_most))
