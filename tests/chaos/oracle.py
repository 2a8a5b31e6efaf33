"""What must hold after all faults, computed only from what querying parties were told."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator

from ostraka.common.errors import OstrakaError
from ostraka.guardian.ledger import LedgerReader, RecordedCharge, UnitKey, verify
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.units import balances
from tests.chaos.guardians import CIPHER
from tests.chaos.members import FEDERATION, members
from tests.chaos.records import BatchKey, Record
from tests.chaos.world import World

Costs = dict[UnitKey, int]


def problems(world: World) -> list[str]:
    """Return every problem of a world that has ended."""
    found = [f"{type(error).__name__}: {error}" for error in world.turns.errors] + world.problems
    if found:
        return found
    try:
        verify(world.where, ca_pem=members().guardian.ca_pem, federation=FEDERATION, heads=world.around.heads)
    except OstrakaError as exc:
        return [f"verify: {exc.message}"]
    records = {record.key: record for querier in world.queriers for record in querier.records}
    told = [problem for record in records.values() for problem in _of_record(record)]
    if told:
        return told
    with LedgerReader.open_read_only(world.where, cipher=CIPHER) as ledger:
        return list(Books(world, records, ledger).problems())


def _of_record(record: Record) -> Iterator[str]:
    """Yield the problems in what one batch's querying party was told."""
    name = f"batch {record.batch} of {record.querier}"
    if len(record.answers) > 1:
        yield f"{name} was answered with {len(record.answers)} different byte strings"
    if len(record.tickets) > 1:
        yield f"{name} has {len(record.tickets)} different tickets"
    if len(record.frozen) > 1:
        yield f"{name} was frozen with different parties: {record.frozen}"
    if record.answers and not record.frozen:
        yield f"{name} was answered before its parties were frozen"
    if set(record.answers.values()) & record.dead:
        yield f"{name} was answered and said to be dead"


class Books:
    """A ledger at its end, compared with what querying parties were told."""

    def __init__(self, world: World, records: dict[BatchKey, Record], ledger: LedgerReader) -> None:
        self._world = world
        self._records = records
        self._budgets = {budget.key: budget for budget in ledger.read(balances.all_budgets)}
        self._charged = _by_batch(ledger.read(recorded_charges.charges, kind="batch"))
        self._figures = ledger.read(recorded_charges.charges, kind="batch")
        self._reconciled = _by_batch(ledger.read(recorded_charges.charges, kind="receipt"))
        self._answers = {
            key: batch.answers
            for key in records
            if (batch := ledger.read(batches.find_batch, *key)) and batch.answers is not None
        }

    def problems(self) -> Iterator[str]:
        """Yield everything that does not hold."""
        yield from self._charged_once()
        yield from self._made_good()
        yield from self._added_up()
        yield from self._figured()

    def _charged_once(self) -> Iterator[str]:
        """Check that a batch has charges exactly if its querying party knows it as answered or evaluated."""
        for key in self._charged.keys() | self._answers.keys():
            record, charged = self._records.get(key), _positive(self._charged.get(key, {}))
            if record is None or (key in self._answers and list(record.answers) != [self._answers[key]]):
                yield f"batch {key} was charged without the answer that was sent"
            elif key not in self._answers and not record.asked:
                yield f"batch {key} has no answers, was not evaluated, and was charged {charged}"
            elif not _between(self._due(record), charged, self._costs(record, record.asked)):
                yield f"batch {key} cost {self._costs(record)} and was charged {charged}"

    def _due(self, record: Record) -> Costs:
        """Return what a batch must be charged here; receipts show what a lost history evaluated."""
        costs, reconciled = self._costs(record), self._reconciled.get(record.key, {})
        return {key: cost for key, cost in costs.items() if key not in reconciled}

    def _made_good(self) -> Iterator[str]:
        """Check that answers of a lost history are charged again, and that nothing is charged twice."""
        for key, record in self._records.items():
            costs, reconciled = self._costs(record), self._reconciled.get(key, {})
            paid = {**reconciled, **self._charged.get(key, {})}
            if key not in self._answers and not _covers(paid, costs):
                yield f"batch {key} without answers cost {costs}, and {paid} was charged or made good"
            if reconciled and key in self._answers:
                yield f"batch {key} is released here and was made good from receipts, too"
            if reconciled and self._world.around.generation == 0:
                yield f"batch {key} was made good though no history was lost"

    def _added_up(self) -> Iterator[str]:
        spent: Counter[UnitKey] = Counter()
        for charges in (*self._charged.values(), *self._reconciled.values()):
            spent.update(charges)
        true: Counter[UnitKey] = Counter()
        most: Counter[UnitKey] = Counter()
        for record in self._records.values():
            true.update(self._costs(record))
            most.update(self._costs(record, record.asked))
        for key, budget in self._budgets.items():
            if budget.spent != spent[key]:
                yield f"{key} spent {budget.spent} and its charges are {spent[key]}"
            if budget.spent < true[key] or (not self._reconciled and budget.spent > most[key]):
                yield f"{key} spent {budget.spent} and what was answered cost {true[key]} to {most[key]}"
            if budget.reserved:
                yield f"{key} has {budget.reserved} reserved and every session is closed"
            if budget.enforce == "worst_case" and true[key] > budget.budget:
                yield f"{key} has a budget of {budget.budget} and the answers given cost {true[key]}"

    def _figured(self) -> Iterator[str]:
        """Check that a charge's stated data-dependent cost is the worst case until that cost is stored."""
        for charge in self._figures:
            key = charge.session_id, charge.batch_id
            known = self._world.around.figures.get(key, {}).get(charge.unit, charge.data_dependent)
            if charge.data_dependent not in (charge.worst_case, known):
                yield f"batch {key} cost {charge.unit} {known} on its votes, not {charge.data_dependent}"

    def _costs(self, record: Record, evaluated: Collection[str] | None = None) -> Costs:
        """Return a batch's cost if these parties `evaluated` it; None: those whose evaluations arrived."""
        costs = record.costs(record.evaluated if evaluated is None else evaluated)
        return {key: cost for key, cost in costs.items() if key in self._budgets}


def _by_batch(charges: list[RecordedCharge]) -> dict[BatchKey, Costs]:
    found: defaultdict[BatchKey, Costs] = defaultdict(dict)
    for charge in charges:
        found[charge.session_id, charge.batch_id][charge.unit] = charge.worst_case
    return found


def _positive(costs: Costs) -> Costs:
    return {key: cost for key, cost in costs.items() if cost}


def _between(least: Costs, charged: Costs, most: Costs) -> bool:
    """Whether the charge lies between the two costs."""
    return _covers(charged, least) and _covers(most, charged)


def _covers(paid: Costs, costs: Costs) -> bool:
    return all(paid.get(key, 0) >= cost for key, cost in costs.items())
