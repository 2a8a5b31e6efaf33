"""Data-dependent totals, for holders of the guardian's key. They depend on votes: never publish them."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypedDict

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.page import templates
from ostraka.common.privacy import AMOUNT_UNIT, InputError, epsilon
from ostraka.common.privacy.filters import filter_name, filter_text, received_order, sent_order
from ostraka.common.privacy.guarantees import notion
from ostraka.guardian.admin.client import odd
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.report import name_of
from ostraka.guardian.admin.texts import minute, spending_text
from ostraka.guardian.ledger import Budget, Cipher, LedgerReader, RecordedCharge, UnitKey, creation, load_key
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.site import ledger_location
from ostraka.guardian.ledger.store.amounts import add
from ostraka.guardian.ledger.store.cipher import KEY_FILE
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc

MARK = "confidential: never publish"
"""The mark on every page and file with such figures."""


class Spent(TypedDict):
    """Epsilon spent up to and including one batch."""

    batch: int
    released_unix_ms: int
    epsilon_worst_case: float
    epsilon_data_dependent: float


class UnitReport(TypedDict):
    """One unit's budget and its spending, in epsilon at its delta and filter."""

    party: str
    group: str
    adjacency: str
    notion: str
    epsilon_budget: float
    delta: float
    order: float
    filter: str
    enforce: str
    epsilon_worst_case: float
    epsilon_data_dependent: float
    history: list[Spent]


def totals(folder: Path) -> list[UnitReport]:
    """Every unit's spending with its history by batch, from a guardian's site folder that may be in use.

    Raises:
        OstrakaError: `ledger.missing`; `ledger.tampered` if the key belongs to another ledger;
            `config.invalid` if there is no key.
    """
    cipher = read_key(folder / KEY_FILE)
    with LedgerReader.open_read_only(ledger_location(folder), cipher=cipher) as ledger:
        charges = ledger.read(recorded_charges.charges)
        budgets = ledger.read(balances.all_budgets)
    return [_report(b, [c for c in charges if c.unit == b.key]) for b in budgets]


def read_totals(stub: admin_pb2_grpc.AdminStub, cipher: Cipher) -> list[UnitReport]:
    """Return the same from a running guardian; the client decrypts the rows with the ledger's key.

    Raises:
        OstrakaError: `ledger.tampered` if the key belongs to another ledger; `message.invalid` if the
            guardian does not identify its key.
    """
    pages = stub.ListSealedCharges(admin_pb2.ListSealedChargesRequest())
    first = next(pages, admin_pb2.SealedChargeRows())
    if not first.ledger_id:
        raise odd("does not say whose charges these are")
    # Check the key first: no row opens with another ledger's key.
    creation.open_check(cipher, first.ledger_id, first.key_check)
    charges = [_open_row(row, cipher) for row in rows_of(pages)]
    return [
        _report(budget, [charge for charge in charges if charge.unit == UnitKey(*name_of(budget))])
        for budget in stub.ListBudgets(admin_pb2.ListBudgetsRequest())
    ]


def read_key(path: Path) -> Cipher:
    """Return the cipher of a ledger's key that an administrator holds.

    Raises:
        OstrakaError: `config.invalid` if there is no file, it is not a key, or other users may read it.
    """
    if not path.is_file():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"There is no ledger's key {path}, without which data-dependent totals cannot be read; name the"
            f" file with --ledger-key, or restore {KEY_FILE}.",
        )
    return Cipher(load_key(path))


def _open_row(row: admin_pb2.SealedChargeRow, cipher: Cipher) -> RecordedCharge:
    unit = UnitKey(row.party, row.group, row.adjacency)
    spent = row.worst_case
    if row.sealed:
        spent = cipher.unseal(row.sealed, *batches.seal_context(row.session_id, row.batch_id, unit))
    return RecordedCharge(row.session_id, row.batch_id, unit, row.worst_case, spent, row.time_unix_ms)


def _report(budget: Budget | admin_pb2.Budget, charges: Iterable[RecordedCharge]) -> UnitReport:
    party, group, adjacency = budget.key if isinstance(budget, Budget) else name_of(budget)
    history: list[Spent] = []
    worst = data = 0
    for charge in sorted(charges, key=lambda charge: charge.released_unix_ms):
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
        party=party,
        group=group,
        adjacency=adjacency,
        notion=notion(adjacency),
        epsilon_budget=budget.epsilon,
        delta=budget.delta,
        order=sent_order(budget.order),
        filter=filter_name(budget.order),
        enforce=budget.enforce,
        epsilon_worst_case=_epsilon(worst, budget),
        epsilon_data_dependent=_epsilon(data, budget),
        history=history,
    )


def _epsilon(amount: int, budget: Budget | admin_pb2.Budget) -> float:
    try:
        return epsilon(amount * AMOUNT_UNIT, received_order(budget.order), budget.delta)
    except InputError as error:
        raise odd(
            f"lists a budget of filter {filter_text(budget.order)} and delta {budget.delta:g}"
        ) from error


TEMPLATE = Path(__file__).with_name("confidential.html")


def render_confidential(federation: str, made_unix_ms: int, units: Sequence[UnitReport]) -> str:
    """Return the page, marked at its head and in its title; outside text is escaped."""
    return templates.render(
        TEMPLATE,
        federation=federation,
        made=minute(made_unix_ms),
        mark=MARK,
        units=map(confidential_row, units),
    )


def confidential_row(unit: UnitReport) -> Iterable[str]:
    """Yield a unit's name, budget, delta, filter, enforced, charges, worst-case and vote-based spending."""
    yield f"{unit['party']}/{unit['group']} ({unit['notion']})"
    yield f"{unit['epsilon_budget']:g}"
    yield f"{unit['delta']:g}"
    yield filter_text(unit["order"])
    yield unit["enforce"]
    yield f"{len(unit['history'])}"
    yield spending_text(unit["epsilon_worst_case"])
    yield spending_text(unit["epsilon_data_dependent"])
