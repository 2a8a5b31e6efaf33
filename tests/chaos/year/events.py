"""Events of a year other than sessions: events of certificates, parties, budgets and the machine."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.wire.contexts import AGREEMENT_CONTEXT, RECEIPTS_CONTEXT
from ostraka.guardian.admin.budget_admin import read_agreement
from ostraka.guardian.ledger import Budget, BudgetTerms, UnitKey
from ostraka.guardian.ledger.members import parties, revocations
from ostraka.guardian.ledger.units import balances, budgets
from ostraka.protos.ostraka.v1 import common_pb2, guardian_pb2
from tests.chaos.members import DELTA, ORDER
from tests.chaos.year.books import Books
from tests.chaos.year.guardian import DiedError, Guardian
from tests.chaos.year.sites import Authority, Site

Act = Callable[[Guardian], object]
MOST_GROUPS = 3


class Events:
    """Everything that people and machines do, each by a draw."""

    def __init__(
        self,
        draws: random.Random,
        clock: ManualClock,
        guardian: Guardian,
        books: Books,
        authority: Authority,
        folder: Path,
        count: Counter[str],
    ) -> None:
        self._draws = draws
        self._clock = clock
        self._guardian = guardian
        self._books = books
        self._authority = authority
        self._backup = folder / "backup"
        self._count = count
        self._since_backup: list[Act] = []

    # Administrators

    def found(self, site: Site) -> None:
        """Give a new site its budgets, and register it."""
        for group in site.groups:
            self.set_budget(UnitKey(site.name, group, "record"), self._draws.uniform(2, 10))
        if self._draws.random() < 0.2:
            self.set_budget(UnitKey(site.name, site.groups[0], "label"), self._draws.uniform(8, 20))
        self.register(site)

    def administer(self, act: Act) -> None:
        """Do something for an administrator, who repeats it if a backup has lost it."""
        self._since_backup.append(act)
        self._act(act)

    def _act(self, act: Act) -> None:
        """Do something once; if the guardian died, it may have been done."""
        died = False
        while True:
            try:
                self._guardian.call(act)
                return
            except DiedError:
                died = True
            except OstrakaError as exc:
                if died and exc.code is ErrorCode.AGREEMENT_INVALID:
                    return
                raise

    def set_budget(self, unit: UnitKey, epsilon: float) -> None:
        """Set a budget, or lower it."""
        terms = BudgetTerms(epsilon, DELTA, ORDER, "worst_case")
        self.administer(lambda g: g.ledger.write(budgets.set_budget, unit, terms))
        self._books.inherited(self._guardian.ledger, unit.party, set())

    def lower(self, site: Site) -> None:
        """Lower a budget."""
        budget = self._budget(site)
        self.set_budget(budget.key, budget.epsilon * self._draws.uniform(0.7, 0.95))

    def agree_to_more(self, site: Site) -> None:
        """Raise a budget with its party's signature."""
        budget = self._budget(site)
        more = budget.epsilon * self._draws.uniform(1.1, 1.6)
        self._agree(site, budget.key, "raise", budget.epsilon, more)

    def freeze(self, site: Site) -> None:
        """Freeze a group, or unfreeze it."""
        group = self._draws.choice(site.groups)
        unit = UnitKey(site.name, group, "record")
        if self._guardian.ledger.read(balances.budgets_of, [unit])[0].state == "withdrawn":
            return
        frozen = group not in site.silent
        self.administer(lambda g: g.ledger.write(budgets.freeze, unit, frozen=frozen, reason="year"))
        site.silent ^= {group}

    def withdraw(self, site: Site) -> None:
        """Withdraw a group's consent, or apply its party's new consent."""
        group = self._draws.choice(site.groups)
        unit = UnitKey(site.name, group, "record")
        if self._guardian.ledger.read(balances.budgets_of, [unit])[0].state == "withdrawn":
            self._agree(site, unit, "consent")
            site.silent.discard(group)
        else:
            self.administer(lambda g: g.ledger.write(budgets.withdraw, unit, reason="year"))
            site.silent.add(group)

    def suspend(self, site: Site) -> None:
        """Suspend a party, or resume it."""
        state = "active" if site.suspended else "suspended"
        self.administer(lambda g: g.ledger.write(parties.set_party, site.name, state, reason="year"))
        site.suspended = not site.suspended

    def come_back(self, site: Site) -> None:
        """Let an excluded party take part again."""
        if site.revoked:
            self.rotate(site)
        elif site.suspended:
            self.suspend(site)
        else:
            self.freeze(site)

    def revoke(self, site: Site) -> None:
        """Revoke a party's certificates; it is asked nothing until it registers with others."""
        pem = self._authority.revoke(site.credentials)
        accepted = self._guardian.credentials.revocations.accept(pem)
        number, revoked = accepted.number, len(accepted.serials)
        self.administer(
            lambda g: g.ledger.write(
                revocations.apply, pem.decode(), number=number, revoked=revoked, reason="year"
            )
        )
        site.revoked = True

    def _agree(
        self, site: Site, unit: UnitKey, action: str, before: float = 0.0, epsilon: float = 0.0
    ) -> None:
        """Let a party sign, check its signature as the guardian does, and apply what it signed."""
        if site.revoked:
            return
        number = self._guardian.ledger.read(balances.budgets_of, [unit])[0].agreements
        agreement = common_pb2.Agreement(
            site=site.name,
            group=unit.group,
            adjacency=unit.adjacency,
            action=action,
            epsilon_before=before,
            epsilon=epsilon,
            number=number,
        )
        signed = site.credentials.sign(AGREEMENT_CONTEXT, agreement.SerializeToString())
        read_agreement(signed, self._guardian.credentials, self._clock)
        evidence = signed.SerializeToString(deterministic=True)

        def apply(guardian: Guardian) -> None:
            if action == "raise":
                guardian.ledger.write(
                    budgets.raise_budget,
                    unit,
                    epsilon_before=before,
                    epsilon=epsilon,
                    number=number,
                    agreement=evidence,
                    reason="year",
                )
            else:
                guardian.ledger.write(
                    budgets.consent_again, unit, number=number, agreement=evidence, reason="year"
                )

        self.administer(apply)

    def _budget(self, site: Site) -> Budget:
        unit = UnitKey(site.name, self._draws.choice(site.groups), "record")
        return self._guardian.ledger.read(balances.budgets_of, [unit])[0]

    # Parties

    def register(self, site: Site) -> None:
        """Register a party as it is, and let it hand in its receipts if it must."""
        known = {
            budget.key.group for budget in self._books.state.budgets.values() if budget.key.party == site.name
        }
        request = guardian_pb2.RegisterRequest(manifest=site.manifest(), kept_head=site.head)
        registered = self._guardian.insist(lambda g: g.registrar.register(site.identity, request))
        entering = set(site.groups) - known
        self._books.inherited(self._guardian.ledger, site.name, entering)
        site.head, site.changed = registered.head, False
        if registered.reconcile:
            self._reconcile(site, entering)

    def _reconcile(self, site: Site, entering: set[str]) -> None:
        ledger = self._guardian.ledger
        owed = self._books.reconciling(site, ledger.read(balances.all_budgets, site.name))
        told = common_pb2.Receipts(site=site.name, receipts=site.receipts)
        signed = site.credentials.sign(RECEIPTS_CONTEXT, told.SerializeToString())
        parts = [guardian_pb2.ReconcileRequest(receipts=signed)]
        reply = self._guardian.insist(lambda g: g.registrar.reconcile(site.identity, parts))
        self._books.reconciled(site, owed, self._guardian.ledger)
        self._books.inherited(self._guardian.ledger, site.name, entering)
        site.head = reply.audit_head
        self._count["receipts charged"] += len(owed)

    def rotate(self, site: Site) -> None:
        """Give a party new keys, with which it registers."""
        site.credentials = self._authority.issue(site.name, Role.PARTY)
        self.register(site)
        site.revoked = False

    def change_records(self, site: Site) -> None:
        """Register other records: more of them, a new group, or more votes per person."""
        change = self._draws.choice(["records", "group", "votes"])
        if change == "group" and len(site.groups) < MOST_GROUPS:
            group = f"g{len(site.groups)}"
            site.groups.append(group)
            self.set_budget(UnitKey(site.name, group, "record"), self._draws.uniform(2, 10))
        elif change == "votes" and site.votes < 2:
            site.votes += 1
        else:
            site.records += self._draws.randint(1, 9)
        self._count[f"registered anew: {change}"] += 1
        if not site.revoked:
            self.register(site)

    # The machine

    def die(self) -> None:
        """Kill the guardian at a random statement of a random later call."""
        self._guardian.doom(60, superseded=False)

    def supersede(self) -> None:
        """Let another guardian take over the ledger at a random later call."""
        self._guardian.doom(60, superseded=True)

    def rotate_guardian(self) -> None:
        """Restart the guardian with new keys."""
        self._guardian.rotate(self._authority.issue("guardian", Role.GUARDIAN))

    def back_up(self) -> None:
        """Back up the ledger."""
        self._guardian.save(self._backup)
        self._books.save()
        self._since_backup.clear()

    def lose(self) -> None:
        """Lose the ledger and restore the backup; administrators repeat what it lost."""
        self._guardian.lose(self._backup)
        self._books.restored(self._guardian.ledger)
        self._books.check(self._guardian.ledger)
        for act in self._since_backup:
            self._act(act)
        for party in sorted({unit.party for unit in self._books.state.budgets}):
            self._books.inherited(self._guardian.ledger, party, set())
        self._count["ledger restored"] += 1
