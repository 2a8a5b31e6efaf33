"""Publications of an epsilon by smooth sensitivity: each is charged and stored once, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import insert, select

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.store.amounts import check_amount
from ostraka.guardian.ledger.store.schema import charges, publications
from ostraka.guardian.ledger.store.values import UnitKey
from ostraka.guardian.ledger.transaction import Transaction
from ostraka.guardian.ledger.units import entries, history, kept_totals, units
from ostraka.guardian.ledger.units.units import UnitCharge, UnitRow


@dataclass(frozen=True)
class Publication:
    """A signed statement of an epsilon with noise, and its cost.

    Attributes:
        unit: the unit of the total.
        state: the published state, as `UnitTotal.state`; `votes` as there.
        statement: the signed statement.
        beta: the noise's parameter, with `sigma`.
        charges: amounts for all units that pay, as `UnitTotal.payers`.
        reason: the reason, for the audit log.
    """

    unit: UnitKey
    state: str
    votes: str
    statement: bytes
    beta: float
    sigma: float
    charges: Mapping[UnitKey, int]
    reason: str


class OutdatedError(Exception):
    """The state to publish has changed; read it again."""


def find(view: View, state: str) -> bytes | None:
    """Return the published statement of a state, if there is one."""
    statement = select(publications.c.statement).where(publications.c.state == state)
    return view.connection.execute(statement).scalar_one_or_none()


def publish(tx: Transaction, made: Publication) -> bytes:
    """Charge and store a publication, and return the statement that may leave.

    If a statement of the same state was stored meanwhile, it is returned and nothing is charged: fresh noise
    on the same total would allow an averaging attack.

    Raises:
        OutdatedError: the state or the payers changed since it was read; nothing is charged.
        OstrakaError: `budget.missing`, `budget.nothing_kept`, `budget.too_small`, `policy.refused` if a unit
            is frozen, withdrawn or has a data-dependent budget; nothing is charged then.
        ValueError: an invalid amount.
    """
    rows = units.require(tx.connection, made.charges)
    before = find(tx, made.state)
    if before is not None:
        return before
    now = kept_totals.total_of(tx, made.unit)
    if now.state != made.state or {payer.key for payer in now.payers} != rows.keys():
        raise OutdatedError
    for key, row in rows.items():
        check_amount("charges", made.charges[key])
        _check(key, row, made.charges[key])
    units.charge_all(
        tx, [UnitCharge(row, 0, made.charges[key], made.charges[key]) for key, row in rows.items()]
    )
    charged = units.find(tx.connection, rows)
    _store(tx, made, charged, now.influence)
    history.add_events(tx, "published", charged.values(), made.reason)
    tx.record(
        "epsilon_published",
        state=made.state,
        votes=made.votes,
        statement_sha256=sha256(made.statement),
        beta=made.beta,
        sigma=made.sigma,
        charged=[[*key, made.charges[key]] for key in rows],
        votes_per_person=now.influence,
        reason=made.reason,
    )
    return made.statement


def _store(
    tx: Transaction,
    made: Publication,
    charged: Mapping[UnitKey, UnitRow],
    influence: Mapping[str, int | None],
) -> None:
    """Store a publication that its units were charged for."""
    number = entries.add(tx, "publication")
    tx.connection.execute(
        insert(publications).values(
            id=number,
            state=made.state,
            votes=made.votes,
            statement=made.statement,
            beta=made.beta,
            sigma=made.sigma,
        )
    )
    each = [
        {
            "entry": number,
            "unit": row.id,
            "votes": influence[key.party],
            "reserved": 0,
            "worst_case": made.charges[key],
            "spent": row.spent,
        }
        for key, row in charged.items()
    ]
    tx.connection.execute(insert(charges), each)


def _check(key: UnitKey, row: UnitRow, amount: int) -> None:
    """Raise the error for which `publish` refuses a unit."""
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
