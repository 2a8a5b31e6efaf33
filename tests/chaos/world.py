"""One simulated federation: its members, its faults, and how it ends."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

from ostraka.common.plan.choices import VARIANT
from ostraka.common.plan.plan import Plan
from ostraka.guardian.ledger import BudgetTerms, UnitKey, registrations
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.guardian.policy import Policy
from ostraka.guardian.sessions import coordinator
from tests.chaos.faults import CALM, Faults
from tests.chaos.guardians import Guardian, Surroundings, Where, open_ledger
from tests.chaos.members import DELTA, GROUPS, ORDER, PARTIES, QUERIERS, START, members, plan
from tests.chaos.network import Network
from tests.chaos.parties import Party
from tests.chaos.places import Place
from tests.chaos.queriers import Querier
from tests.chaos.troubles import plan_troubles
from tests.chaos.turns import Killed, Turns

ALONG_S = 400.0
LATE_S = 90.0


class World:
    """A federation whose every event follows from a seed."""

    def __init__(self, seed: int, place: Place, addresses: tuple[str, ...], folder: Path) -> None:
        self.draws = random.Random(seed)  # noqa: S311
        self.faults = Faults.drawn(self.draws)
        self.events: list[str] = []
        self.where: Where = place()
        self.problems: list[str] = []
        self.place = place
        self.folder = folder
        self.addresses = list(addresses)
        self.turns = Turns(self._seeded(), START)
        self.network = Network(self.turns, self._seeded(), self.faults, self.log)
        self.around = Surroundings(
            self.turns, self._seeded(), self.faults, self._policy(), self.log, self._died
        )
        known = (self.turns, self.network, self.draws, self.addresses)
        self.parties = {site: Party(site, *known) for site in PARTIES}
        self.queriers = [Querier(site, *known, self.around) for site in QUERIERS]
        self.network.at.update(self.parties)

    def _seeded(self) -> random.Random:
        return random.Random(self.draws.random())  # noqa: S311

    def log(self, event: str) -> None:
        """Record an event."""
        self.events.append(f"{self.turns.now - START:8.2f}  {event}")

    def run(self) -> None:
        """Set everybody up, let them run until they are done, and bring everything to an end."""
        tokens = self._seeded()
        named = SimpleNamespace(token_hex=lambda length: tokens.randbytes(length).hex())
        with mock.patch.object(coordinator, "secrets", named), self._stopping():
            self._found()
            for address in self.addresses:
                self.start(address)
            for querier in self.queriers:
                self.turns.start(partial(querier.run, self._plans()))
            plan_troubles(self)
            self.turns.run(lambda: all(q.done for q in self.queriers), START + ALONG_S)
            self._finish()

    @contextmanager
    def _stopping(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.turns.stop()
            for process in self.network.at.values():
                if isinstance(process, Guardian):
                    process.ledger._storage.close()

    def _policy(self) -> Policy:
        return Policy(
            enforce="data_dependent" if self.faults.data_dependent else "worst_case",
            bound="theorem6",
            min_quorum=1,
            mechanisms=("votes", "sums"),
            encodings=("plain", "ckks"),
            on_exhaustion="vanish" if self.faults.vanish else "stop",
            freeze_after_s=self.draws.choice([0.3, 1.0, 5.0]),
            grant_ttl_s=self.draws.choice([20.0, 3600.0]),
            allowed_skew_s=5.0,
        )

    def _plans(self) -> list[Plan]:
        variants: list[VARIANT] = ["none", "none", "none", "weighting", "vanishing"]
        variant = self.draws.choice(variants)
        quorum = 1 if variant == "vanishing" else 2
        sessions = self.draws.randint(1, 2)
        return [plan(self.draws, variant, quorum, self.draws.randint(2, 6)) for _ in range(sessions)]

    def _found(self) -> None:
        with open_ledger(self.around, self.where) as ledger:
            for site in PARTIES:
                signed = members().manifests[site]
                ledger.write(registrations.register, site, signed.payload, signed.SerializeToString())
                enforce = self.around.policy.enforce
                generous = self.draws.choice([5.0, 12.0, 40.0])
                for group in GROUPS[site]:
                    epsilon = generous * self.draws.uniform(0.7, 1.5)
                    ledger.write(
                        budgets.set_budget,
                        UnitKey(site, group, "record"),
                        BudgetTerms(epsilon, DELTA, ORDER, enforce),
                    )
            ledger.write(
                budgets.set_budget,
                UnitKey("c", "all", "label"),
                BudgetTerms(2 * generous, DELTA, ORDER, enforce),
            )

    # Guardians

    def start(self, address: str) -> None:
        try:
            guardian = Guardian(self.around, self.where, address)
        except Killed:
            self._restart_later(address)
            return
        self.log(f"guardian {address} starts")
        self.network.at[address] = guardian
        if isinstance(self.where, Path):
            self._check_recovered(guardian)

    def _check_recovered(self, guardian: Guardian) -> None:
        if any(budget.reserved for budget in guardian.ledger.read(balances.all_budgets)):
            self.problems.append("a reservation outlived the guardian that made it")

    def _died(self, guardian: Guardian) -> None:
        if self.network.at.get(guardian.address) is guardian:
            self._restart_later(guardian.address)

    def _restart_later(self, address: str) -> None:
        where = self.where
        later = self.draws.choice([0.1, 1.0, self.draws.uniform(1, 25)])
        self.turns.at(self.turns.now + later, lambda: self.start(address) if where == self.where else None)

    def guardians(self) -> list[Guardian]:
        return [g for g in self.network.at.values() if isinstance(g, Guardian) and g.alive]

    # The end

    def _finish(self) -> None:
        """Let pending and late messages arrive at one calm guardian, and settle and close everything."""
        self.log("calm")
        self.network.faults = self.around.faults = CALM
        self.let_guardians_die()
        self.start(self.addresses[0])
        done: list[bool] = []
        self.turns.start(lambda: self._settle_all(done))
        self.turns.run(lambda: bool(done), self.turns.now + ALONG_S)
        if not done and not self.turns.errors:
            self.problems.append("the sessions could not be settled and closed")

    def let_guardians_die(self) -> None:
        """Kill every guardian, and let none restart by itself."""
        dead = self.guardians()
        for guardian in dead:
            del self.network.at[guardian.address]
            guardian.crash()

    def _settle_all(self, done: list[bool]) -> None:
        for party in self.parties.values():
            party.register()
        for again in range(2):
            for querier in self.queriers:
                for record in querier.records:
                    querier.settle(record)
            if not again:
                self.turns.sleep(LATE_S)
        for querier in self.queriers:
            for session in querier.sessions:
                querier.close(session)
        done.append(True)
