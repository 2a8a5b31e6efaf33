"""Publications of an epsilon by smooth sensitivity: each is charged and stored once, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger import history, units
from ostraka.guardian.ledger.amounts import check_amount
from ostraka.guardian.ledger.audit import sha256
from ostraka.guardian.ledger.schema import publication_charges, publications
from ostraka.guardian.ledger.schema import units as unit_table
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import UnitCharge, UnitRow
from ostraka.guardian.ledger.values import RecordedCharge, UnitKey
from ostraka.guardian.ledger.view import View


@dataclass(frozen=True)
class Publication:
    """A signed statement of an epsilon that was drawn, and what that costs.

    Attributes:
        state: what it is published of, as `UnitTotal.state`; `votes` as there.
        statement: the signed statement.
        beta: how the noise was chosen, with `sigma`.
        charges: amounts for all units whose votes it is about.
        reason: why, for the audit log.
    """

    state: str
    votes: str
    statement: bytes
    beta: float
    sigma: float
    charges: Mapping[UnitKey, int]
    reason: str


def find(view: View, state: str) -> bytes | None:
    """Return the statement that was published of a state, if one was."""
    statement = select(publications.c.statement).where(publications.c.state == state)
    return view.connection.execute(statement).scalar_one_or_none()


def publish(tx: Transaction, made: Publication) -> bytes:
    """Charge and store a publication, and return the statement that may leave.

    Where one of the same state was stored meanwhile, that one is returned and nothing is charged: fresh noise
    on the same total would be an averaging attack.

    Raises:
        OstrakaError: `budget.missing`, `budget.too_small`, `policy.refused` where a unit is frozen, withdrawn
            or held to data-dependent costs; nothing is charged then.
        ValueError: an amount that is none.
    """
    rows = units.require(tx.connection, made.charges)
    before = find(tx, made.state)
    if before is not None:
        return before
    for key, row in rows.items():
        check_amount("charges", made.charges[key])
        _check(key, row, made.charges[key])
    units.charge_all(
        tx, [UnitCharge(row, 0, made.charges[key], made.charges[key]) for key, row in rows.items()]
    )
    values = {
        "state": made.state,
        "votes": made.votes,
        "statement": made.statement,
        "time_unix_ms": tx.now_ms,
    }
    new = insert(publications).values(**values, beta=made.beta, sigma=made.sigma)
    number = tx.connection.execute(new.returning(publications.c.id)).scalar_one()
    each = [
        {"publication": number, "unit": row.id, "worst_case": made.charges[key]} for key, row in rows.items()
    ]
    tx.connection.execute(insert(publication_charges), each)
    history.add_events(tx, "published", units.find(tx.connection, rows).values(), made.reason)
    tx.record(
        "epsilon_published",
        state=made.state,
        votes=made.votes,
        statement_sha256=sha256(made.statement),
        beta=made.beta,
        sigma=made.sigma,
        charged=[[*key, made.charges[key]] for key in rows],
        reason=made.reason,
    )
    return made.statement


def charges(view: View, party: str | None = None) -> list[RecordedCharge]:
    """Return what publications cost, oldest first; of one party or all. Each is a batch of no session."""
    statement = (
        select(publications.c.id, publications.c.time_unix_ms, publication_charges.c.worst_case)
        .add_columns(unit_table.c.party, unit_table.c.group_name, unit_table.c.adjacency)
        .add_columns(
            history.spent_after(unit_table.c.id, "published", publications.c.time_unix_ms).label("spent")
        )
        .join(publication_charges, publication_charges.c.publication == publications.c.id)
        .join(unit_table, unit_table.c.id == publication_charges.c.unit)
        .order_by(publications.c.time_unix_ms, publications.c.id, unit_table.c.id)
    )
    if party is not None:
        statement = statement.where(unit_table.c.party == party)
    return [
        RecordedCharge(
            session_id="",
            batch_id=row.id,
            unit=units.key_of(row),
            worst_case=row.worst_case,
            data_dependent=row.worst_case,
            released_unix_ms=row.time_unix_ms,
            spent=row.spent,
        )
        for row in view.connection.execute(statement)
    ]


def noises(connection: Connection, party: str, adjacencies: Sequence[str]) -> list[tuple[float, float]]:
    """Return beta and sigma of every publication that such units of a party were charged for."""
    statement = (
        select(publications.c.id, publications.c.beta, publications.c.sigma)
        .join(publication_charges, publication_charges.c.publication == publications.c.id)
        .join(unit_table, unit_table.c.id == publication_charges.c.unit)
        .where(unit_table.c.party == party, unit_table.c.adjacency.in_(adjacencies))
        .distinct()
    )
    return [(row.beta, row.sigma) for row in connection.execute(statement)]


def _check(key: UnitKey, row: UnitRow, amount: int) -> None:
    """Raise what `publish` refuses a unit for."""
    if row.state != "active":
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"{key} is {row.state}, and nothing more is released of its records; publish once it is active.",
        )
    if row.enforce != "worst_case":
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            f"The budget of {key} is held to data-dependent costs, which no epsilon is published beside;"
            " publish under enforce = 'worst_case' alone.",
        )
    if amount > units.budget(row).available:
        raise OstrakaError(
            ErrorCode.BUDGET_TOO_SMALL,
            f"Publishing does not fit what is left of the budget of {key}, whose votes it is about; name a"
            " larger sigma and a smaller beta, or have its party raise the budget.",
        )
