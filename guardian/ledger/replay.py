"""What the rows of an audit log add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guardian.ledger.accounts import Accounts
from guardian.ledger.audit import sha256

BatchKey = tuple[str, int]


@dataclass
class Books:
    """Every table of the ledger as the log tells it; digests stand for contents.

    Attributes:
        head: the ledger's id, fence and epoch.
        accounts: units, parties, policies and forgotten charges.
        manifests: by number: site, digest.
        sessions: by id: querier, plan digest, digests of plan and grant, queries, asked, state.
        batches: by session and id: size, ticket digest, state, request and answers digests, answered.
        charges: by session, batch id and unit: reserved, worst-case charge.
    """

    head: tuple[str, int, int] = ("", 0, 0)
    accounts: Accounts = field(default_factory=Accounts)
    manifests: dict[int, tuple[str, str]] = field(default_factory=dict)
    sessions: dict[str, list[Any]] = field(default_factory=dict)
    batches: dict[BatchKey, list[Any]] = field(default_factory=dict)
    charges: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    _units_of: dict[BatchKey, list[tuple[str, ...]]] = field(default_factory=dict)

    def apply(self, row: dict[str, Any], now_ms: int) -> None:
        """Add one row's payload, written at `now_ms`.

        Raises:
            LookupError, TypeError, ValueError: the row is none that Ostraka writes.
        """
        if self.accounts.apply(row, now_ms):
            return
        match row["kind"]:
            case "created":
                self.head = (row["ledger"], 0, 0)
            case "opened":
                self.head = (self.head[0], row["fence"], self.head[2])
                for session, batch in row["dead"]:
                    self._bury((session, batch))
            case "migrated":
                self.head = (self.head[0], row["fence"], self.head[2])
                self.accounts.begin_periods(now_ms)
            case "restored" | "rollback_found":
                self.head = (*self.head[:2], row["epoch"])
                for session, dead in row["ended"]:
                    self._end(session, "ended", dead)
            case "party_registered":
                self.accounts.register(row["site"], now_ms)
                self.manifests[len(self.manifests) + 1] = (row["site"], row["manifest_sha256"])
            case "session_opened":
                names = ("querier", "plan_digest", "plan_sha256", "grant_sha256", "queries")
                self.sessions[row["session"]] = [*(row[name] for name in names), 0, "open"]
            case "sessions_adopted":
                for session, batch in row["dead"]:
                    self._bury((session, batch))
            case "session_closed" | "session_ended":
                self._end(row["session"], row["kind"].removeprefix("session_"), row["dead"])
            case "batch_opened":
                self._open(row)
            case "batch_released":
                self._release(row)
            case "batch_dead":
                self._bury((row["session"], row["batch"]))
            case kind:
                raise ValueError(f"kind: {kind}")

    def _end(self, session: str, state: str, dead: list[int]) -> None:
        self.sessions[session][-1] = state
        for batch in dead:
            self._bury((session, batch))

    def _open(self, row: dict[str, Any]) -> None:
        batch = (row["session"], row["batch"])
        self.batches[batch] = [row["size"], row["ticket_sha256"], "ticketed", None, None, 0]
        self.sessions[row["session"]][-2] += row["size"]
        self._units_of[batch] = [tuple(key) for *key, _ in row["reserved"]]
        for *key, amount in row["reserved"]:
            self.accounts.units[tuple(key)].move(reserved=amount)
            self.charges[(*batch, *key)] = [amount, 0]

    def _release(self, row: dict[str, Any]) -> None:
        batch = (row["session"], row["batch"])
        charged = {tuple(key): amount for *key, amount in row["charged"]}
        for unit in {*self._units_of.pop(batch), *charged}:
            charge = self.charges.setdefault((*batch, *unit), [0, 0])
            charge[1] = charged.get(unit, 0)
            self.accounts.units[unit].move(charged=charge[1], reserved=-charge[0])
        self.batches[batch][2:] = [
            *("released", row["request_sha256"], row["answers_sha256"]),
            row["answered"],
        ]

    def _bury(self, batch: BatchKey) -> None:
        for unit in self._units_of.pop(batch, []):
            self.accounts.units[unit].move(reserved=-self.charges[(*batch, *unit)][0])
        buried = self.batches.setdefault(batch, [0, sha256(b""), "dead", None, None, 0])
        if buried[2] == "ticketed":
            self.sessions[batch[0]][-2] -= buried[0]
        buried[2] = "dead"
