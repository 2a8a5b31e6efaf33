"""Units, parties, policies and forgotten charges as the rows of an audit log add them up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.store.amounts import add, overdrawn

Key = tuple[str, ...]
Published = tuple[str, str, float, float, int, dict[Key, tuple[int, int | None]]]
"""Votes, digest of the statement, beta, sigma, time; by unit what it cost, and the votes of one person that
this holds for."""


def after(before: str, *values: object) -> str:
    """Return what stands for a row and for all rows before it, which `before` stands for; "" for none."""
    return sha256(json.dumps([before, *values]).encode())


def event_after(
    before: str,
    now_ms: int,
    kind: str,
    epsilon: float,
    spent: int,
    reason: str,
    entry: int = 0,
    votes: int | None = None,
) -> str:
    """As `after`, for an event of a unit."""
    order = (entry, votes) if entry > 0 or votes else ()
    return after(before, now_ms, kind, float(epsilon), spent, reason, *order)


@dataclass
class Account:
    """A unit as its row and its events have it, but for what is encrypted.

    `events` stands for all that happened to it, one after the other.
    """

    epsilon: float
    delta: float
    order: float
    enforce: str
    budget: int
    level: str | None
    period_started_unix_ms: int
    spent: int = 0
    reserved: int = 0
    overdrawn_to: int = 0
    state: str = "active"
    agreements: int = 0
    spent_before: int = 0
    broken_unix_ms: int | None = None
    events: str = ""

    def move(self, *, charged: int = 0, reserved: int = 0) -> None:
        """Charge, and reserve (or, below 0, give back)."""
        self.spent = add(self.spent, charged)
        self.reserved += reserved
        self.overdrawn_to = min(self.overdrawn_to, self.spent + self.reserved)

    def set_budget(self, epsilon: float, budget: int) -> None:
        """Promise another epsilon."""
        self.epsilon, self.budget = epsilon, budget
        self.overdrawn_to = overdrawn(self.spent + self.reserved, budget)

    def renew(self, now_ms: int) -> None:
        """Begin a new period."""
        self.spent_before, self.spent = add(self.spent_before, self.spent), 0
        self.overdrawn_to = min(self.overdrawn_to, self.reserved)
        self.period_started_unix_ms = now_ms
        self.break_lifetime(now_ms)

    def overdraw(self, charged: int) -> None:
        """Charge what was spent anyway, also beyond the budget."""
        self.move(charged=charged)
        self.overdrawn_to = max(self.overdrawn_to, overdrawn(self.spent + self.reserved, self.budget))

    def inherit(self, spent: int, spent_before: int) -> None:
        """Take over what other units have spent."""
        self.spent, self.spent_before = spent, spent_before
        self.overdrawn_to = max(self.overdrawn_to, overdrawn(self.spent + self.reserved, self.budget))

    def break_lifetime(self, now_ms: int) -> None:
        """Note from when on the guarantee no longer covers the unit's lifetime."""
        self.broken_unix_ms = now_ms if self.broken_unix_ms is None else self.broken_unix_ms

    def happened(
        self, now_ms: int, kind: str, reason: str = "", entry: int = 0, votes: int | None = None
    ) -> None:
        """Note an event, whose `entry` and `votes` older versions did not."""
        self.events = event_after(self.events, now_ms, kind, self.epsilon, self.spent, reason, entry, votes)


@dataclass
class Accounts:
    """What administrators and parties did.

    Attributes:
        units: every unit by its key.
        parties: by site: state, epoch of the last reconciliation, since when.
        policies: by version: digest, reason, time.
        reconciled: by session, batch and unit: worst-case charge, time.
        published: by state.
    """

    units: dict[Key, Account] = field(default_factory=dict)
    parties: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    policies: dict[int, tuple[str, str, int]] = field(default_factory=dict)
    reconciled: dict[tuple[Any, ...], tuple[int, int]] = field(default_factory=dict)
    published: dict[str, Published] = field(default_factory=dict)

    def apply(self, row: dict[str, Any], now_ms: int) -> bool:
        """Add one row's payload, or return False where its kind is another's."""
        match row["kind"]:
            case "budget_set":
                self._set_budget(row, now_ms)
            case "budget_raised":
                self._raise(row, now_ms)
            case "budgets_renewed":
                for key in row["units"]:
                    self.units[tuple(key)].renew(now_ms)
                    self.units[tuple(key)].happened(now_ms, "renewed", entry=row.get("entry", 0))
            case "spending_inherited":
                for *key, spent, spent_before, breaks in row["units"]:
                    self.units[tuple(key)].inherit(spent, spent_before)
                    if breaks:
                        self.units[tuple(key)].break_lifetime(now_ms)
                    self.units[tuple(key)].happened(now_ms, "inherited", entry=row.get("entry", 0))
            case "votes_raised":
                for *key, spent, broken in row["units"]:
                    account = self.units[tuple(key)]
                    account.inherit(spent, account.spent_before)
                    if broken:
                        account.break_lifetime(now_ms)
                    votes = row["votes"] if "entry" in row else None
                    reason = f"{row['votes']} votes a person"
                    account.happened(now_ms, "recosted", reason, row.get("entry", 0), votes)
            case "unit_frozen" | "unit_thawed" | "unit_withdrawn" | "unit_consented" as kind:
                self._set_state(row, kind.removeprefix("unit_"), now_ms)
            case "party_set":
                self._set_party(row["site"], row["state"], now_ms)
            case "party_reconciled":
                self._reconcile(row, now_ms)
            case "epsilon_published":
                self._publish(row, now_ms)
            case "policy_applied":
                self.policies[row["version"]] = (row["toml_sha256"], row["reason"], now_ms)
            case "lost_head_seen" | "revocations_applied":
                pass
            case _:
                return False
        return True

    def register(self, site: str, now_ms: int) -> None:
        """Make a party active that was new or added."""
        if self.parties.get(site, ("added",))[0] == "added":
            self._set_party(site, "active", now_ms)

    def _set_budget(self, row: dict[str, Any], now_ms: int) -> None:
        key, epsilon, level = tuple(row["unit"]), row["epsilon"], row["level"]
        account = self.units.get(key)
        if account is None:
            terms = (epsilon, row["delta"], row["order"], row["enforce"], row["budget"])
            account = self.units[key] = Account(*terms, level, now_ms)
        kind = "lowered" if epsilon < account.epsilon else "set"
        account.set_budget(epsilon, row["budget"])
        account.level = level
        account.happened(now_ms, kind, row["reason"])

    def _raise(self, row: dict[str, Any], now_ms: int) -> None:
        account = self.units[tuple(row["unit"])]
        account.set_budget(row["epsilon"], row["budget"])
        account.level = None
        account.agreements = row["number"] + 1
        account.break_lifetime(now_ms)
        account.happened(now_ms, "raised", row["reason"])

    def _set_state(self, row: dict[str, Any], kind: str, now_ms: int) -> None:
        account = self.units[tuple(row["unit"])]
        account.state = {"thawed": "active", "consented": "active"}.get(kind, kind)
        if kind == "consented":
            account.agreements = row["number"] + 1
        account.happened(now_ms, kind, row["reason"])

    def _set_party(self, site: str, state: str, now_ms: int) -> None:
        _, epoch, _ = self.parties.get(site, ("", 0, 0))
        self.parties[site] = (state, epoch, now_ms)

    def _reconcile(self, row: dict[str, Any], now_ms: int) -> None:
        state, _, since = self.parties[row["site"]]
        self.parties[row["site"]] = (state, row["epoch"], since)
        owed: dict[Key, int] = {}
        for session, batch, *key, amount in row["charged"]:
            self.reconciled[session, batch, *key] = (amount, now_ms)
            owed[tuple(key)] = add(owed.get(tuple(key), 0), amount)
        for unit, amount in owed.items():
            self.units[unit].overdraw(amount)
            self.units[unit].happened(now_ms, "reconciled")

    def _publish(self, row: dict[str, Any], now_ms: int) -> None:
        votes = row.get("votes_per_person", {})
        charged: dict[Key, tuple[int, int | None]] = {
            tuple(unit): (amount, votes.get(unit[0])) for *unit, amount in row["charged"]
        }
        for unit, (amount, _) in charged.items():
            self.units[unit].move(charged=amount)
            self.units[unit].happened(now_ms, "published", row["reason"])
        told = (row["votes"], row["statement_sha256"], row["beta"], row["sigma"])
        self.published[row["state"]] = (*told, now_ms, charged)
