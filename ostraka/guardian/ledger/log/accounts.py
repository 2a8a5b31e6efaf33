"""Accounts of units, parties, policies and recovered charges, computed from the rows of an audit log."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

from ostraka.common.privacy.filters import FILTERS
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.rows import (
    Account,
    Party,
    Policy,
    PublicationCharge,
    PublishedEpsilon,
    ReceiptCharge,
    UnitName,
)
from ostraka.guardian.ledger.store.amounts import add


def after(before: str, *values: object) -> str:
    """Return the chained digest of a row and all rows before it, whose digest is `before` ("" for none)."""
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
class Accounts:
    """The results of administrators' and parties' actions.

    Attributes:
        units: every unit by its name.
        parties: by site.
        policies: by version.
        reconciled: by session, batch and unit.
        publications: by state.
        publication_charges: by state and unit.
    """

    units: dict[UnitName, Account] = field(default_factory=dict)
    parties: dict[str, Party] = field(default_factory=dict)
    policies: dict[int, Policy] = field(default_factory=dict)
    reconciled: dict[tuple[str | int, ...], ReceiptCharge] = field(default_factory=dict)
    publications: dict[str, PublishedEpsilon] = field(default_factory=dict)
    publication_charges: dict[tuple[str, ...], PublicationCharge] = field(default_factory=dict)

    def apply(self, row: dict[str, Any], now_ms: int) -> bool:
        """Add one row's payload, or return False if this class does not handle its kind."""
        match row["kind"]:
            case "budget_set":
                self._set_budget(row, now_ms)
            case "budget_raised":
                self._raise(row, now_ms)
            case "budgets_renewed":
                for party, group, adjacency in row["units"]:
                    account = self.units[party, group, adjacency]
                    account.renew(now_ms)
                    add_event(account, now_ms, "renewed", entry=row.get("entry", 0))
            case "spending_inherited":
                for party, group, adjacency, spent, spent_before, breaks in row["units"]:
                    account = self.units[party, group, adjacency]
                    account.inherit(spent, spent_before)
                    if breaks:
                        account.break_lifetime(now_ms)
                    add_event(account, now_ms, "inherited", entry=row.get("entry", 0))
            case "votes_raised":
                for party, group, adjacency, spent, broken in row["units"]:
                    account = self.units[party, group, adjacency]
                    account.inherit(spent, account.spent_before)
                    if broken:
                        account.break_lifetime(now_ms)
                    votes = row["votes"] if "entry" in row else None
                    reason = f"{row['votes']} votes a person"
                    add_event(account, now_ms, "recosted", reason, row.get("entry", 0), votes)
            case "unit_frozen" | "unit_thawed" | "unit_withdrawn" | "unit_consented" as kind:
                self._set_state(row, kind.removeprefix("unit_"), now_ms)
            case "party_set":
                self._set_party(row["site"], row["state"], now_ms)
            case "party_reconciled":
                self._reconcile(row, now_ms)
            case "epsilon_published":
                self._publish(row, now_ms)
            case "policy_applied":
                version = row["version"]
                self.policies[version] = Policy(version, row["toml_sha256"], row["reason"], now_ms)
            case "lost_head_seen" | "revocations_applied":
                pass
            case _:
                return False
        return True

    def register(self, site: str, now_ms: int) -> None:
        """Make a new or added party active."""
        known = self.parties.get(site)
        if known is None or known.state == "added":
            self._set_party(site, "active", now_ms)

    def _set_budget(self, row: dict[str, Any], now_ms: int) -> None:
        party, group, adjacency = row["unit"]
        # A row may have 8 for 8.0, but states of the same rows must be the same text.
        epsilon = float(row["epsilon"])
        account = self.units.get((party, group, adjacency))
        if account is None:
            account = Account(
                party=party,
                group=group,
                adjacency=adjacency,
                epsilon=epsilon,
                delta=float(row["delta"]),
                order=row["order"] if row["order"] in FILTERS else float(row["order"]),
                enforce=row["enforce"],
                budget=row["budget"],
                level=row["level"],
                period_started_unix_ms=now_ms,
            )
            self.units[party, group, adjacency] = account
        kind = "lowered" if epsilon < account.epsilon else "set"
        account.set_budget(epsilon, row["budget"])
        account.level = row["level"]
        add_event(account, now_ms, kind, row["reason"])

    def _raise(self, row: dict[str, Any], now_ms: int) -> None:
        account = self._unit(row)
        account.set_budget(float(row["epsilon"]), row["budget"])
        account.level = None
        account.agreements = row["number"] + 1
        account.break_lifetime(now_ms)
        add_event(account, now_ms, "raised", row["reason"])

    def _set_state(self, row: dict[str, Any], kind: str, now_ms: int) -> None:
        account = self._unit(row)
        account.state = {"thawed": "active", "consented": "active"}.get(kind, kind)
        if kind == "consented":
            account.agreements = row["number"] + 1
        add_event(account, now_ms, kind, row["reason"])

    def _unit(self, row: dict[str, Any]) -> Account:
        party, group, adjacency = row["unit"]
        return self.units[party, group, adjacency]

    def _set_party(self, site: str, state: str, now_ms: int) -> None:
        known = self.parties.get(site)
        epoch = 0 if known is None else known.reconciled_epoch
        self.parties[site] = Party(site, state, epoch, now_ms)

    def _reconcile(self, row: dict[str, Any], now_ms: int) -> None:
        known = self.parties[row["site"]]
        self.parties[row["site"]] = replace(known, reconciled_epoch=row["epoch"])
        owed: dict[UnitName, int] = {}
        for session, batch, party, group, adjacency, amount in row["charged"]:
            unit = (party, group, adjacency)
            charge = ReceiptCharge(session, batch, *unit, worst_case=amount, time_unix_ms=now_ms)
            self.reconciled[session, batch, *unit] = charge
            owed[unit] = add(owed.get(unit, 0), amount)
        for unit, amount in owed.items():
            self.units[unit].overdraw(amount)
            add_event(self.units[unit], now_ms, "reconciled")

    def _publish(self, row: dict[str, Any], now_ms: int) -> None:
        state = row["state"]
        votes = row.get("votes_per_person", {})
        for party, group, adjacency, amount in row["charged"]:
            unit = (party, group, adjacency)
            charge = PublicationCharge(state, *unit, worst_case=amount, votes=votes.get(party))
            self.publication_charges[state, *unit] = charge
            self.units[unit].move(charged=amount)
            add_event(self.units[unit], now_ms, "published", row["reason"])
        self.publications[state] = PublishedEpsilon(
            state=state,
            votes=row["votes"],
            statement_sha256=row["statement_sha256"],
            beta=float(row["beta"]),
            sigma=float(row["sigma"]),
            time_unix_ms=now_ms,
        )


def add_event(
    account: Account, now_ms: int, kind: str, reason: str = "", entry: int = 0, votes: int | None = None
) -> None:
    """Record an event of a unit; older versions did not write its `entry` and `votes`."""
    account.events = event_after(
        account.events, now_ms, kind, account.epsilon, account.spent, reason, entry, votes
    )
