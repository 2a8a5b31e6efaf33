"""What must hold on every day of a year, from what parties and querying parties know alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field

from sqlalchemy import select

from ostraka.common.errors import OstrakaError
from ostraka.common.plan.signed_lists import read_ticket
from ostraka.guardian.ledger import Budget, LedgerReader, UnitKey, verify
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import parties
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.store.schema import audit as audit_table
from ostraka.guardian.ledger.units import balances
from ostraka.protos.ostraka.v1 import common_pb2
from tests.chaos.guardians import Where
from tests.chaos.members import FEDERATION
from tests.chaos.records import BatchKey, Record
from tests.chaos.year.sites import Site

Costs = dict[UnitKey, int]


@dataclass
class State:
    """What a ledger must hold; it returns to an earlier state if the ledger does.

    Attributes:
        spent: by unit, over all periods of its budget.
        gained: the part of it that was inherited from others or added by recomputed costs.
        budgets: budgets as last seen.
        over: by unit, the amount that may be spent or reserved beyond its budget.
        known: batches that had a ticket.
        outcomes: the answers of finished batches, None for dead ones.
        open: batches that are not finished, by key.
        charged: batches that parties evaluated, with what was charged although the batches died.
        made_good: what was charged from receipts.
        reconciled: by site, the epoch in which it handed in its receipts.
        buried: by epoch, the batches that were open in the backup that began the epoch.
        epoch: number of times a ledger was restored.
        audit: sequence number and hash of the last audit row seen.
    """

    spent: Counter[UnitKey] = field(default_factory=Counter)
    gained: Counter[UnitKey] = field(default_factory=Counter)
    budgets: dict[UnitKey, Budget] = field(default_factory=dict)
    over: dict[UnitKey, int] = field(default_factory=dict)
    known: set[BatchKey] = field(default_factory=set)
    outcomes: dict[BatchKey, bytes | None] = field(default_factory=dict)
    open: set[BatchKey] = field(default_factory=set)
    charged: dict[BatchKey, Costs] = field(default_factory=dict)
    made_good: set[tuple[BatchKey, UnitKey]] = field(default_factory=set)
    reconciled: dict[str, int] = field(default_factory=dict)
    buried: dict[int, set[BatchKey]] = field(default_factory=dict)
    epoch: int = 0
    audit: tuple[int, bytes] = (0, audit.GENESIS)


class Books:
    """The ledger's books, kept a second time from what everybody was told.

    Attributes:
        state: what the ledger must hold now.
        records: every batch with a ticket, including those of lost histories.
        problems: what did not hold.
        charges: number of charges made.
        kinds: audit rows by kind.
    """

    def __init__(self) -> None:
        self.state = State()
        self.records: dict[BatchKey, Record] = {}
        self.problems: list[str] = []
        self.charges = 0
        self.kinds: Counter[str] = Counter()
        self._saved: State | None = None
        self._told: list[Record] = []
        self._true: Counter[UnitKey] = Counter()
        self._most: Counter[UnitKey] = Counter()
        self._most_own: Counter[UnitKey] = Counter()

    # What happens

    def opened(self, record: Record, sites: Mapping[str, Site]) -> None:
        """Take a ticket, which must not name a party that may not be asked."""
        self.records[record.key] = record
        self.state.known.add(record.key)
        self.state.open.add(record.key)
        (payload,) = record.tickets
        for schedule in read_ticket(payload).schedule:
            site = sites[schedule.participant.site]
            if site.suspended or site.revoked or not self.is_reconciled(site.name):
                self.problems.append(f"{site.name} is asked and may not be")
            voting = [c.groups[0] for c, _ in _voting(schedule)]
            if site.silent.intersection(voting):
                self.problems.append(f"{site.name} is asked for votes of {voting}, not of {site.silent}")

    def told(self, record: Record, answers: bytes | None) -> None:
        """Take what a querying party was told of a batch, now or again: it never changes."""
        outcomes = self.state.outcomes
        if record.key in outcomes:
            if outcomes[record.key] != answers:
                self.problems.append(f"batch {record.key} has two outcomes")
            return
        outcomes[record.key] = answers
        self.state.open.discard(record.key)
        self.records[record.key] = record
        if answers is not None:
            record.answers[answers] = self.state.epoch
        self._told.append(record)

    def save(self) -> None:
        """Save the books with a backup."""
        self._saved = deepcopy(self.state)

    def restored(self, ledger: LedgerReader) -> None:
        """Return to the backup: batches that were open in it are dead, and evaluations of them are
        charged."""
        assert self._saved is not None
        assert not self._told
        self.state = deepcopy(self._saved)
        state = self.state
        state.epoch += 1
        state.buried[state.epoch] = set(state.open)
        for key in sorted(state.open):
            state.outcomes[key] = None
            state.charged[key] = _charged(ledger, key)
            state.spent.update(state.charged[key])
        state.open.clear()

    def is_reconciled(self, site: str) -> bool:
        """Whether a site handed in its receipts in this epoch."""
        return self.state.reconciled.get(site, 0) == self.state.epoch

    def reconciling(self, site: Site, before: list[Budget]) -> dict[tuple[BatchKey, UnitKey], int]:
        """Return what must be charged from a site's receipts because the ledger forgot it."""
        state, owed = self.state, dict[tuple[BatchKey, UnitKey], int]()
        units = {budget.key for budget in before}
        since = state.reconciled.get(site.name, 0)
        buried = set().union(*(keys for epoch, keys in state.buried.items() if epoch > since))
        for record in site.voted:
            if record.key in state.known - buried:
                continue
            for unit, cost in record.costs([site.name]).items():
                paid = unit in state.charged.get(record.key, {}) or (record.key, unit) in state.made_good
                if unit.party == site.name and unit in units and not paid:
                    owed[record.key, unit] = cost
        return owed

    def reconciled(self, site: Site, owed: dict[tuple[BatchKey, UnitKey], int], ledger: LedgerReader) -> None:
        """Compare the total charged from a site's receipts with what was owed."""
        state = self.state
        state.made_good |= owed.keys()
        for (_, unit), cost in owed.items():
            state.spent[unit] += cost
        state.reconciled[site.name] = state.epoch
        found = {
            ((c.session_id, c.batch_id), c.unit): c.worst_case
            for c in ledger.read(recorded_charges.charges, party=site.name, kind="receipt")
        }
        mine = {key for key in state.made_good if key[1].party == site.name}
        if found.keys() != mine or any(found[key] != cost for key, cost in owed.items()):
            self.problems.append(
                f"the receipts of {site.name} owed {len(owed)} charges, and others were made"
            )
        self._excuse(ledger.read(balances.all_budgets, site.name))

    def inherited(self, ledger: LedgerReader, site: str, entering: set[str]) -> None:
        """Take over what units inherited: more than they had, and everything their predecessors have."""
        self._check_told(ledger)
        found = ledger.read(balances.all_budgets, site)
        for budget in found:
            own, other = budget.key, [b for b in found if b.key.adjacency == budget.key.adjacency]
            if _lifetime(budget) < self.state.spent[own]:
                self.problems.append(f"{own} has spent {_lifetime(budget)}, less than before")
            if own.group in entering and budget.spent < max(b.spent for b in other):
                self.problems.append(f"{own} enters with less than what others of its party have spent")
            self.state.gained[own] += _lifetime(budget) - self.state.spent[own]
            self.state.spent[own] = _lifetime(budget)
        self._excuse(found)

    def _excuse(self, found: list[Budget]) -> None:
        """Allow units to be over budget by as much as now, where no batch is the cause."""
        for budget in found:
            self.state.over[budget.key] = budget.spent + budget.reserved

    # What must hold

    def check(self, ledger: LedgerReader) -> None:
        """Check a day."""
        self._check_told(ledger)
        found = {budget.key: budget for budget in ledger.read(balances.all_budgets)}
        held = self._held()
        for budget in found.values():
            self.problems += self._of_unit(budget, held[budget.key])
        if self.state.budgets.keys() - found.keys():
            self.problems.append("a budget is gone")
        self.state.budgets = found
        if ledger.read(parties.epoch) != self.state.epoch:
            self.problems.append(f"the ledger's epoch is not {self.state.epoch}")
        ledger.read(self._check_chain)

    def check_whole(self, where: Where, ca_pem: bytes, heads: list[common_pb2.AuditHead]) -> None:
        """Verify the whole ledger, with the heads that parties of this history keep."""
        try:
            verify(where, ca_pem=ca_pem, federation=FEDERATION, heads=heads)
        except OstrakaError as exc:
            self.problems.append(f"verify: {exc.message}")

    def check_some(self, number: int, draws: random.Random, ledger: LedgerReader) -> None:
        """Check that the ledger still knows the outcomes of some old batches."""
        outcomes = self.state.outcomes
        for key in draws.sample(list(outcomes), min(number, len(outcomes))):
            kept, told = ledger.read(batches.find_batch, *key), outcomes[key]
            state = "dead" if told is None else "released"
            if kept is None or (kept.state, kept.answers) != (state, told):
                self.problems.append(f"batch {key} is no longer known as it was told")

    def _check_told(self, ledger: LedgerReader) -> None:
        """Check each finished batch once."""
        if self._told:
            units = {budget.key for budget in ledger.read(balances.all_budgets)}
            for record in self._told:
                self._check_batch(record, units, _charged(ledger, record.key))
            self._told.clear()

    def _check_batch(self, record: Record, units: set[UnitKey], charged: Costs) -> None:
        """Check that a batch was charged what it cost, and nothing if it cost nothing."""
        least, most = (
            {unit: cost for unit, cost in record.costs(sites).items() if unit in units}
            for sites in (record.evaluated, record.asked | record.evaluated)
        )
        if any(charged.get(unit, 0) < cost for unit, cost in least.items()):
            self.problems.append(f"batch {record.key} cost {least} and was charged {charged}")
        if any(most.get(unit, 0) < cost for unit, cost in charged.items()):
            self.problems.append(f"batch {record.key} cost {most} at most and was charged {charged}")
        self.charges += len(charged)
        self.state.spent.update(charged)
        self._true.update(least)
        if not record.answers:
            self.state.charged[record.key] = charged

    def _of_unit(self, budget: Budget, held: int) -> Iterator[str]:
        """Yield what does not hold for a unit of which open batches hold or cost at most `held`."""
        state, key = self.state, budget.key
        lifetime = _lifetime(budget)
        if not state.spent[key] <= lifetime <= state.spent[key] + held:
            yield f"{key} has spent {lifetime}, and its charges are {state.spent[key]}"
        if not 0 <= budget.reserved <= held:
            yield f"{key} reserves {budget.reserved}, and its open batches {held}"
        committed = budget.spent + budget.reserved
        if committed > max(budget.budget, state.over.get(key, 0)):
            yield f"{key} has {committed} spent and reserved, of a budget of {budget.budget}"
        if committed <= budget.budget:
            state.over.pop(key, None)
        before = state.budgets.get(key)
        if before and budget.budget > before.budget and budget.agreements == before.agreements:
            yield f"{key} has a larger budget, and nobody agreed"
        if self.is_reconciled(key.party):
            if lifetime < self._true[key]:
                yield f"{key} has spent {lifetime}, and what was answered cost {self._true[key]}"
            own = lifetime - state.gained[key]
            if own < self._most_own[key]:
                yield f"{key} was charged {own}, and {self._most_own[key]} before a loss"
            if lifetime < self._most[key] and budget.broken_unix_ms is None:
                yield f"{key} has spent {lifetime}, and {self._most[key]} before a loss"
            self._most_own[key], self._most[key] = max(own, self._most_own[key]), lifetime

    def _held(self) -> Counter[UnitKey]:
        """Return what open batches may have reserved, or been charged for evaluations."""
        held: Counter[UnitKey] = Counter()
        for record in map(self.records.__getitem__, self.state.open):
            (payload,) = record.tickets
            schedules = read_ticket(payload).schedule
            held.update(record.costs([schedule.participant.site for schedule in schedules]))
        return held

    def _check_chain(self, view: View) -> None:
        """Check that every audit row of the day follows the one before it."""
        sequence, previous = self.state.audit
        rows = select(audit_table).where(audit_table.c.sequence >= sequence).order_by(audit_table.c.sequence)
        for row in view.connection.execute(rows):
            if row.sequence == sequence:
                if row.hash != previous:
                    self.problems.append(f"audit row {sequence} is another one")
                continue
            digest = audit.row_hash(row.sequence, row.time_unix_ms, previous, row.payload)
            if (row.sequence, row.previous, row.hash) != (sequence + 1, previous, digest):
                self.problems.append(f"audit row {row.sequence} does not follow the row before it")
            sequence, previous = row.sequence, row.hash
            self.kinds[json.loads(row.payload)["kind"]] += 1
        self.state.audit = sequence, previous


def _lifetime(budget: Budget) -> int:
    return budget.spent_before + budget.spent


def _charged(ledger: LedgerReader, key: BatchKey) -> Costs:
    charged = ledger.read(recorded_charges.charges, key[0])
    return {c.unit: c.worst_case for c in charged if c.batch_id == key[1] and c.worst_case}


def _voting(schedule: common_pb2.Schedule) -> Iterator[tuple[common_pb2.Cohort, bytes]]:
    """Yield the cohorts that vote on some query, with the bits that say on which queries; no bits: on all."""
    for cohort, bits in zip(schedule.participant.cohorts, schedule.queries, strict=True):
        if not bits or any(bits):
            yield cohort, bits
