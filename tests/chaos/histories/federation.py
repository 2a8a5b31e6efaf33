"""One ledger, its guardians and its parties, and the true state next to it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ostraka.common.clock import ManualClock
from ostraka.common.errors import OstrakaError
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.wire.contexts import AUDIT_CONTEXT
from ostraka.guardian.ledger import Budget, BudgetTerms, Charge, Ledger, UnitKey, restore
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.site import seal_of
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.guardian.members.registration import Registrar
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions.cohorts import Attendance
from ostraka.guardian.sessions.payers import Payer
from ostraka.guardian.sessions.registry import Session
from tests.chaos.guardians import CIPHER, Where
from tests.chaos.histories.sites import Site, first
from tests.chaos.histories.truth import Batch, Flags, Record, Truth
from tests.chaos.members import DELTA, PARTIES, START, FixedPolicy, members
from tests.chaos.places import Place

POLICIES = FixedPolicy(Policy(bound="theorem6", min_quorum=1))
BEGINNINGS = 16
"""Number of ways a federation can begin; each is written once per process and copied."""
ADDRESSES = {"sqlite": ("g0",), "postgresql": ("g0", "g1")}
_ORDERS = (8.0, 8.0, 8.0, GAUSSIAN, 4.0, 16.0)
_EPSILONS = (30.0, 300.0, 300.0, 3000.0)


@dataclass(frozen=True)
class Delayed:
    """A change for which a guardian has read everything and which it still has to write."""

    what: str
    write: Callable[[], object]


class Outcome(NamedTuple):
    """How a batch is released, decided once; `answered` are flags (queries, answers)."""

    frozen: frozenset[str]
    paying: list[Payer]
    answered: Flags
    charges: tuple[Charge, ...]


@dataclass(eq=False)
class Opened:
    """A batch as its guardian keeps it in memory.

    Attributes:
        batch: the batch.
        ledger: the guardian's ledger.
        attendance: who votes by its ticket.
        units: units that pay.
        outcome: None until its parties are frozen.
    """

    batch: Batch
    ledger: Ledger
    attendance: Attendance
    units: frozenset[UnitKey]
    outcome: Outcome | None = None


@dataclass
class Federation:
    """Everything that steps change.

    Attributes:
        place: returns an empty place for a ledger.
        folder: where backups are.
        addresses: addresses of its guardians.
        sites: its parties by name.
        where: where the ledger is now.
        clock: the shared clock.
        truth: what was released, and of which records.
        ledgers: ledgers of running guardians; those that were replaced come first.
        sessions: open sessions of guardians, by plan and parties.
        numbers: numbers of sessions and batches, each used once.
        open: batches with a ticket.
        delayed: changes begun and not finished.
        backup: a copy of the ledger, and the number of publications at that time.
        promised: the smallest epsilon that a unit promised to a record it charged, by adjacency.
        problems: violations that were seen.
    """

    place: Place
    folder: Path
    addresses: tuple[str, ...]
    sites: dict[str, Site]
    where: Where = ""
    clock: ManualClock = field(default_factory=lambda: ManualClock(START))
    truth: Truth = field(default_factory=Truth)
    ledgers: list[Ledger] = field(default_factory=list)
    sessions: dict[tuple[object, ...], Session] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    open: list[Opened] = field(default_factory=list)
    delayed: list[Delayed] = field(default_factory=list)
    backup: tuple[Path, int] | None = None
    promised: dict[tuple[Record, str], float] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    # Guardians

    def start(self) -> None:
        """Start every guardian."""
        self.ledgers = [self._opened(address) for address in self.addresses]

    def take_over(self) -> None:
        """Start a guardian that replaces one that keeps running as if nothing had happened."""
        self.ledgers.append(self._opened(self.addresses[0]))
        self.sessions.clear()

    def ledger(self, draws: random.Random) -> Ledger:
        """Return the ledger of one of the current guardians."""
        return draws.choice(self.ledgers[-len(self.addresses) :])

    def registrar(self, ledger: Ledger) -> Registrar:
        """Return the object that registers parties at a guardian."""
        return Registrar(ledger, members().guardian, POLICIES, self.clock)

    def restore(self) -> None:
        """Lose the ledger and put its backup in its place."""
        assert self.backup is not None
        saved, publications = self.backup
        self.stop()
        self.where = self.place()
        restore(saved, self.where, clock=self.clock, cipher=CIPHER, sign_head=_sign_head)
        self.start()
        for batch in self.truth.batches:
            batch.state = "dead" if batch.state == "ticketed" else batch.state
        # This line reproduces a weakness that docs/accounting-smooth.md admits: these publications have no
        # receipts.
        del self.truth.publications[publications:]
        self.sessions.clear()
        self.delayed.clear()
        self.open.clear()
        for site in self.sites.values():
            site.away = True

    def stop(self) -> None:
        """Stop every guardian."""
        for ledger in self.ledgers:
            with suppress(OstrakaError):
                ledger.close()
        self.ledgers.clear()

    def _opened(self, address: str) -> Ledger:
        return Ledger.open(
            self.where,
            clock=self.clock,
            cipher=CIPHER,
            sign_head=_sign_head,
            seal=seal_of(members().guardian, self.clock),
            address=address,
        )

    # Parties

    def groups(self) -> dict[Record, str]:
        """Return the group of every record that teachers are trained on."""
        return {
            Record(site.name, number): group
            for site in self.sites.values()
            for number, group in site.declared.groups.items()
        }

    def budgets(self) -> dict[UnitKey, Budget]:
        """Return every unit's budget; the same dictionary again if nothing was written since."""
        return self.ledgers[-1].recall(_by_unit)


class Beginnings:
    """New federations; SQLite files are written once and then copied."""

    def __init__(self, backend: str, place: Place, folder: Path) -> None:
        self._backend = backend
        self._place = place
        self._folder = folder

    def new(self, number: int) -> Federation:
        """Return a federation that begins in the way with this `number`."""
        draws = random.Random(number)  # noqa: S311
        sites = {name: Site(name, first(draws)) for name in PARTIES}
        made = Federation(self._place, self._folder, ADDRESSES[self._backend], sites)
        made.where = self._place()
        wanted = [(unit, terms(draws)) for unit in _units(sites, draws)]
        if not isinstance(made.where, Path):
            made.start()
            _found(made, wanted)
            return made
        written = self._folder / f"beginning-{number}.db"
        if not written.exists():
            made.start()
            _found(made, wanted)
            made.stop()
            shutil.copy(made.where, written)
        shutil.copy(written, made.where)
        made.start()
        return made


def terms(draws: random.Random) -> BudgetTerms:
    """Draw a budget."""
    return BudgetTerms(draws.choice(_EPSILONS), DELTA, draws.choice(_ORDERS), "worst_case")


def _units(sites: dict[str, Site], draws: random.Random) -> list[UnitKey]:
    return [
        UnitKey(site.name, group, adjacency)
        for site in sites.values()
        for group in sorted(site.declared.names)
        for adjacency in ("record", "label")
        if adjacency == "record" or draws.random() < 0.3
    ]


def _found(made: Federation, wanted: list[tuple[UnitKey, BudgetTerms]]) -> None:
    ledger = made.ledgers[0]
    for site in made.sites.values():
        made.registrar(ledger).register(members().party(site.name).identity, site.registration())
    for unit, promise in wanted:
        ledger.write(budgets.set_budget, unit, promise)


def _by_unit(view: View) -> dict[UnitKey, Budget]:
    return {budget.key: budget for budget in balances.all_budgets(view)}


def _sign_head(payload: bytes) -> Any:
    return members().guardian.sign(AUDIT_CONTEXT, payload)
