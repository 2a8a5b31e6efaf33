"""Replay of an audit log into the tables that it implies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ostraka.guardian.ledger.log.accounts import Accounts, after
from ostraka.guardian.ledger.log.audit import sha256
from ostraka.guardian.ledger.log.rows import (
    Batch,
    BatchName,
    ChargeAmounts,
    Evaluation,
    Head,
    Manifests,
    Session,
    UnitName,
    UnitTotal,
)


@dataclass
class ReplayedLedger:
    """Every table of the ledger, computed from the log.

    Attributes:
        head: the row of `meta`.
        accounts: units, parties, policies and recovered charges.
        manifests: by site.
        sessions: by id.
        batches: by session and id.
        charges: by session and batch id: the digest of all charges of a batch that is no longer ticketed.
        totals: by unit: the sum of all such charges.
        held: by session and batch id: the reservation of a ticketed batch from each unit.
        checked: by session and batch id: the part of it already charged for the batch's check.
        after: by session and batch id: each unit's spending after it was charged.
        votes: by session and batch id, if the row that opened it says so: the digest of how many votes one
            person of each party has in it.
        evaluated: by session and batch id: its worst-case cost to the units whose party has evaluated it.
        settled: None if the whole log was replayed; else, by table, the number of rows that are left out
            because nothing changes them any more.
    """

    head: Head = field(default_factory=Head)
    accounts: Accounts = field(default_factory=Accounts)
    manifests: dict[str, Manifests] = field(default_factory=dict)
    sessions: dict[str, Session] = field(default_factory=dict)
    batches: dict[BatchName, Batch] = field(default_factory=dict)
    charges: dict[BatchName, str] = field(default_factory=dict)
    totals: dict[UnitName, UnitTotal] = field(default_factory=dict)
    held: dict[BatchName, dict[UnitName, int]] = field(default_factory=dict)
    checked: dict[BatchName, dict[UnitName, int]] = field(default_factory=dict)
    after: dict[BatchName, dict[UnitName, int]] = field(default_factory=dict)
    votes: dict[BatchName, str] = field(default_factory=dict)
    evaluated: dict[BatchName, dict[UnitName, Evaluation]] = field(default_factory=dict)
    settled: dict[str, int] | None = None

    def apply(self, row: dict[str, Any], now_ms: int) -> None:
        """Add one row's payload, written at `now_ms`.

        Raises:
            LookupError, TypeError, ValueError: if Ostraka writes no such row.
        """
        if self.accounts.apply(row, now_ms):
            return
        match row["kind"]:
            case "created":
                self.head = Head(row["ledger"])
            case "opened":
                self.head = replace(self.head, fence=row["fence"])
                self._bury_all(row["dead"], now_ms)
            case "migrated":
                self.head = replace(self.head, fence=row["fence"])
            case "restored" | "rollback_found":
                self.head = replace(self.head, epoch=row["epoch"])
                for session, dead in row["ended"]:
                    self._end(session, "ended", dead, now_ms)
            case "party_registered":
                site = row["site"]
                self.accounts.register(site, now_ms)
                before = self.manifests[site].digest if site in self.manifests else ""
                self.manifests[site] = Manifests(site, after(before, row["manifest_sha256"], now_ms))
            case "session_opened":
                self.sessions[row["session"]] = Session(
                    session=row["session"],
                    querier=row["querier"],
                    plan_digest=row["plan_digest"],
                    plan=row["plan_sha256"],
                    grant=row["grant_sha256"],
                    queries=row["queries"],
                    opened_unix_ms=now_ms,
                )
            case "sessions_adopted":
                self._bury_all(row["dead"], now_ms)
            case "session_closed" | "session_ended":
                self._end(row["session"], row["kind"].removeprefix("session_"), row["dead"], now_ms)
            case "batch_opened":
                self._open(row, now_ms)
            case "batch_checked":
                self._check(row, now_ms)
            case "batch_evaluated":
                self._evaluate(row, now_ms)
            case "batch_released":
                self._release(row, now_ms)
            case "batch_dead":
                self._bury((row["session"], row["batch"]), now_ms)
            case "ballots_refused" | "ballots_attested":
                self.batches[row["session"], row["batch"]]  # informs an administrator; changes no table
            case "answers_dropped":
                pass  # their digests stay, and are compared as before
            case kind:
                raise ValueError(f"kind: {kind}")

    def finish(self) -> None:
        """Sum up the batches that are still ticketed, after the last row."""
        for key, held in self.held.items():
            spent = self.checked.get(key, {})
            self._keep(key, held, spent, spent)

    def counts(self) -> dict[str, int]:
        """Return the number of rows of each table that grows with time; for sessions also of open ones."""
        here = {
            "sessions": len(self.sessions),
            "batches": len(self.batches),
            "evaluations": sum(map(len, self.evaluated.values())),
        }
        before = self.settled or {}
        still_open = sum(session.state == "open" for session in self.sessions.values())
        return {name: count + before.get(name, 0) for name, count in here.items()} | {"open": still_open}

    def _end(self, session: str, state: str, dead: list[int], now_ms: int) -> None:
        self.sessions[session].state = state
        self._bury_all([(session, batch) for batch in dead], now_ms)

    def _open(self, row: dict[str, Any], now_ms: int) -> None:
        key = (row["session"], row["batch"])
        self.batches[key] = Batch(*key, size=row["size"], ticket=row["ticket_sha256"], opened_unix_ms=now_ms)
        self.sessions[row["session"]].asked += row["size"]
        self.held[key] = _amounts(row["reserved"])
        for unit, amount in self.held[key].items():
            self.accounts.units[unit].move(reserved=amount)
        if "votes" in row and self.held[key]:
            self.votes[key] = digest_of_votes(
                {unit[0]: row["votes"].get(unit[0], 1) for unit in self.held[key]}
            )

    def _check(self, row: dict[str, Any], now_ms: int) -> None:
        key = (row["session"], row["batch"])
        self.checked[key] = _amounts(row["charged"])
        for unit, amount in self.checked[key].items():
            self._charge(key, unit, charged=amount, reserved=-amount)
        self.batches[key].check_digest = row["request_sha256"]
        self.batches[key].checked_unix_ms = now_ms

    def _evaluate(self, row: dict[str, Any], now_ms: int) -> None:
        key = (row["session"], row["batch"])
        owed = self.evaluated.setdefault(key, {})
        for unit, amount in _amounts(row["owed"]).items():
            owed[unit] = Evaluation(*key, *unit, worst_case=amount, time_unix_ms=now_ms)

    def _release(self, row: dict[str, Any], now_ms: int) -> None:
        key = (row["session"], row["batch"])
        held = self.held.pop(key)
        checked = self.checked.pop(key, {})
        charged = _amounts(row["charged"])
        for unit, amount in charged.items():
            before = checked.get(unit, 0)
            self._charge(key, unit, charged=amount - before, reserved=before - held.get(unit, 0))
        self._keep(key, held, checked, charged)
        for party, group, adjacency in row.get("left_out", ()):
            self.evaluated[key][party, group, adjacency].charged_unix_ms = now_ms
        batch = self.batches[key]
        batch.state = "released"
        batch.released_unix_ms = now_ms
        batch.request_digest = row["request_sha256"]
        batch.answers_sha256 = row["answers_sha256"]
        batch.answered = row["answered"]

    def _charge(self, key: BatchName, unit: UnitName, *, charged: int, reserved: int = 0) -> None:
        """Charge a batch to a unit, and record the unit's spending then."""
        account = self.accounts.units[unit]
        account.move(charged=charged, reserved=reserved)
        self.after.setdefault(key, {})[unit] = account.spent

    def _keep(
        self,
        key: BatchName,
        held: Mapping[UnitName, int],
        checked: Mapping[UnitName, int],
        spent: Mapping[UnitName, int],
    ) -> None:
        """Sum up the charges of a batch; one without reservation and charge has none."""
        spending = self.after.pop(key, {})
        amounts = {
            unit: ChargeAmounts(
                held.get(unit, 0), checked.get(unit, 0), spent.get(unit, 0), spending.get(unit)
            )
            for unit in {**held, **spent}
        }
        if amounts:
            self.charges[key] = digest(amounts)
        for unit, charge in amounts.items():
            total = self.totals.get(unit) or UnitTotal(*unit, charges=0, worst_case=0)
            self.totals[unit] = replace(
                total, charges=total.charges + 1, worst_case=total.worst_case + charge.worst_case
            )

    def _bury_all(self, keys: list[Any], now_ms: int) -> None:
        for session, batch in keys:
            self._bury((session, batch), now_ms)

    def _bury(self, key: BatchName, now_ms: int) -> None:
        held = self.held.pop(key, {})
        checked = self.checked.pop(key, {})
        spent = dict(checked)
        for unit, evaluated in self.evaluated.get(key, {}).items():
            self._charge(key, unit, charged=evaluated.worst_case - checked.get(unit, 0))
            spent[unit] = evaluated.worst_case
            evaluated.charged_unix_ms = now_ms
        for unit, amount in held.items():
            self.accounts.units[unit].move(reserved=checked.get(unit, 0) - amount)
        self._keep(key, held, checked, spent)
        never_opened = Batch(*key, size=0, ticket=sha256(b""), opened_unix_ms=now_ms)
        batch = self.batches.setdefault(key, never_opened)
        if batch.size:
            self.sessions[key[0]].asked -= batch.size
        batch.state = "dead"


def digest_of_votes(votes: Mapping[str, int]) -> str:
    """Return the digest of how many votes one person of each party has in a batch."""
    return sha256(json.dumps(sorted(votes.items())).encode())


def digest(charges: Mapping[UnitName, ChargeAmounts]) -> str:
    """Return the digest of the charges of one batch."""
    return sha256(json.dumps(sorted([*unit, *amounts] for unit, amounts in charges.items())).encode())


def _amounts(rows: list[Any]) -> dict[UnitName, int]:
    return {(party, group, adjacency): amount for party, group, adjacency, amount in rows}
