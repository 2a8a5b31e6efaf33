"""What the rows of an audit log add up to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from guardian.ledger.audit import sha256
from guardian.ledger.values import add

BatchKey = tuple[str, int]


@dataclass
class Books:
    """Every table of the ledger as the log tells it; digests stand for contents.

    Attributes:
        head: the ledger's id and fence.
        units: by key: epsilon, delta, order, enforce, budget, spent, reserved.
        manifests: by number: site, digest.
        sessions: by id: querier, plan digest, digests of plan and grant, queries, state.
        batches: by session and id: size, ticket digest, state, request and answers digests, answered.
        charges: by session, batch id and unit: reserved, worst-case charge.
    """

    head: tuple[str, int] = ("", 0)
    units: dict[tuple[str, ...], list[Any]] = field(default_factory=dict)
    manifests: dict[int, tuple[str, str]] = field(default_factory=dict)
    sessions: dict[str, list[Any]] = field(default_factory=dict)
    batches: dict[BatchKey, list[Any]] = field(default_factory=dict)
    charges: dict[tuple[Any, ...], list[int]] = field(default_factory=dict)
    _units_of: dict[BatchKey, list[tuple[str, ...]]] = field(default_factory=dict)

    def apply(self, row: dict[str, Any]) -> None:
        """Add one row's payload. Raises LookupError, TypeError or ValueError for one never written."""
        match row["kind"]:
            case "created":
                self.head = (row["ledger"], 0)
            case "opened":
                self.head = (self.head[0], row["fence"])
                for session, batch in row["dead"]:
                    self._bury((session, batch))
            case "budget_set":
                self._set_budget(row)
            case "party_registered":
                self.manifests[len(self.manifests) + 1] = (row["site"], row["manifest_sha256"])
            case "session_opened":
                names = ("querier", "plan_digest", "plan_sha256", "grant_sha256", "queries")
                self.sessions[row["session"]] = [*(row[name] for name in names), "open"]
            case "session_closed" | "session_ended":
                self.sessions[row["session"]][-1] = row["kind"].removeprefix("session_")
                for batch in row["dead"]:
                    self._bury((row["session"], batch))
            case "batch_opened":
                self._open(row)
            case "batch_released":
                self._release(row)
            case "batch_dead":
                self._bury((row["session"], row["batch"]))
            case kind:
                raise ValueError(f"kind: {kind}")

    def _set_budget(self, row: dict[str, Any]) -> None:
        _, _, _, _, _, spent, reserved = self.units.get(tuple(row["unit"]), [0] * 7)
        names = ("epsilon", "delta", "order", "enforce", "budget")
        self.units[tuple(row["unit"])] = [*(row[name] for name in names), spent, reserved]

    def _open(self, row: dict[str, Any]) -> None:
        batch = (row["session"], row["batch"])
        self.batches[batch] = [row["size"], row["ticket_sha256"], "ticketed", None, None, 0]
        self._units_of[batch] = [tuple(key) for *key, _ in row["reserved"]]
        for *key, amount in row["reserved"]:
            self.units[tuple(key)][6] += amount
            self.charges[(*batch, *key)] = [amount, 0]

    def _release(self, row: dict[str, Any]) -> None:
        batch = (row["session"], row["batch"])
        self._return(batch)
        for *key, amount in row["charged"]:
            unit = self.units[tuple(key)]
            unit[5] = add(unit[5], amount)
            self.charges.setdefault((*batch, *key), [0, 0])[1] = amount
        self.batches[batch][2:] = [
            *("released", row["request_sha256"], row["answers_sha256"]),
            row["answered"],
        ]

    def _bury(self, batch: BatchKey) -> None:
        self._return(batch)
        self.batches.setdefault(batch, [0, sha256(b""), "dead", None, None, 0])[2] = "dead"

    def _return(self, batch: BatchKey) -> None:
        for unit in self._units_of.pop(batch, []):
            self.units[unit][6] -= self.charges[(*batch, *unit)][0]
