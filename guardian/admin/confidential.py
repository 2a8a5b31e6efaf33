"""Data-dependent totals, for whoever holds the guardian's key. They depend on votes: never publish them."""

from pathlib import Path
from typing import TypedDict

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.guarantees import NOTIONS
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.ledger import (
    Budget,
    Cipher,
    LedgerReader,
    RecordedCharge,
    balances,
    load_or_create_key,
    recorded_charges,
)
from ostraka.guardian.ledger.amounts import add
from ostraka.guardian.ledger.cipher import KEY_FILE
from ostraka.guardian.ledger.site import ledger_location


class Spent(TypedDict):
    """Epsilon spent up to and including one batch."""

    batch: int
    released_unix_ms: int
    epsilon_worst_case: float
    epsilon_data_dependent: float


class UnitReport(TypedDict):
    """One unit's budget and what was spent of it, in epsilon at its delta and order."""

    party: str
    group: str
    adjacency: str
    notion: str
    epsilon_budget: float
    delta: float
    order: float
    enforce: str
    epsilon_worst_case: float
    epsilon_data_dependent: float
    history: list[Spent]


def totals(folder: Path) -> list[UnitReport]:
    """Every unit's spending with its history by batch, from a guardian's site folder that may be in use.

    Raises:
        OstrakaError: `ledger.missing`, `ledger.tampered` where the key is another ledger's,
            `config.invalid` where there is no key.
    """
    if not (folder / KEY_FILE).is_file():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"{folder} has no {KEY_FILE}, without which data-dependent totals cannot be read; restore it.",
        )
    cipher = Cipher(load_or_create_key(folder))
    with LedgerReader.open_read_only(ledger_location(folder), cipher=cipher) as ledger:
        charges = ledger.read(recorded_charges.charges)
        budgets = ledger.read(balances.all_budgets)
    return [_report(b, [c for c in charges if c.unit == b.key]) for b in budgets]


def _report(budget: Budget, charges: list[RecordedCharge]) -> UnitReport:
    history: list[Spent] = []
    worst = data = 0
    for charge in charges:
        worst = add(worst, charge.worst_case)
        data = add(data, charge.data_dependent or 0)
        history.append(
            Spent(
                batch=charge.batch_id,
                released_unix_ms=charge.released_unix_ms,
                epsilon_worst_case=_epsilon(worst, budget),
                epsilon_data_dependent=_epsilon(data, budget),
            )
        )
    return UnitReport(
        party=budget.key.party,
        group=budget.key.group,
        adjacency=budget.key.adjacency,
        notion=NOTIONS[budget.key.adjacency],
        epsilon_budget=budget.epsilon,
        delta=budget.delta,
        order=budget.order,
        enforce=budget.enforce,
        epsilon_worst_case=_epsilon(worst, budget),
        epsilon_data_dependent=_epsilon(data, budget),
        history=history,
    )


def _epsilon(amount: int, budget: Budget) -> float:
    return epsilon(amount * AMOUNT_UNIT, budget.order, budget.delta)
