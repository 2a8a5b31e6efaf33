"""Rows of a ledger's tables in the form of its audit log: one type per table, with digests for contents.

A replay makes them from the log and `stored_tables` from the tables; checkpoints and archives store them by
the names of their fields. A field that is renamed, added or removed changes `checkpoint_state.FORMAT`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ostraka.guardian.ledger.store.amounts import add, overdrawn

UnitName = tuple[str, str, str]
"""A unit's party, group and adjacency."""
BatchName = tuple[str, int]
"""A batch's session, and its id in the session."""


@dataclass(frozen=True)
class Head:
    """The row of `meta`."""

    ledger_id: str = ""
    fence: int = 0
    epoch: int = 0


@dataclass
class Account:
    """A unit's row and events, except what is encrypted.

    `events` is the chained digest of all its events; `order` is the filter's name if the filter has no order.
    """

    party: str
    group: str
    adjacency: str
    epsilon: float
    delta: float
    order: float | str
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
        """Charge an amount, and reserve one (below 0: release one)."""
        self.spent = add(self.spent, charged)
        self.reserved += reserved
        self.overdrawn_to = min(self.overdrawn_to, self.spent + self.reserved)

    def set_budget(self, epsilon: float, budget: int) -> None:
        """Set another epsilon."""
        self.epsilon = epsilon
        self.budget = budget
        self.overdrawn_to = overdrawn(self.spent + self.reserved, budget)

    def renew(self, now_ms: int) -> None:
        """Begin a new period."""
        self.spent_before = add(self.spent_before, self.spent)
        self.spent = 0
        self.overdrawn_to = min(self.overdrawn_to, self.reserved)
        self.period_started_unix_ms = now_ms
        self.break_lifetime(now_ms)

    def overdraw(self, charged: int) -> None:
        """Charge what was spent in any case, even beyond the budget."""
        self.move(charged=charged)
        self.overdrawn_to = max(self.overdrawn_to, overdrawn(self.spent + self.reserved, self.budget))

    def inherit(self, spent: int, spent_before: int) -> None:
        """Take over the spending of other units."""
        self.spent = spent
        self.spent_before = spent_before
        self.overdrawn_to = max(self.overdrawn_to, overdrawn(self.spent + self.reserved, self.budget))

    def break_lifetime(self, now_ms: int) -> None:
        """Record the time from which the guarantee no longer covers the unit's lifetime."""
        self.broken_unix_ms = now_ms if self.broken_unix_ms is None else self.broken_unix_ms


@dataclass(frozen=True)
class Party:
    """A party's standing; `reconciled_epoch` is the epoch of its last reconciliation."""

    site: str
    state: str
    reconciled_epoch: int
    since_unix_ms: int


@dataclass(frozen=True)
class Manifests:
    """All manifests of a party: `digest` is their chained digest."""

    site: str
    digest: str


@dataclass(frozen=True)
class Policy:
    """A policy that was applied."""

    version: int
    toml_sha256: str
    reason: str
    applied_unix_ms: int


@dataclass(frozen=True)
class ReceiptCharge:
    """The charge to a unit for a batch that the ledger had lost."""

    session: str
    batch: int
    party: str
    group: str
    adjacency: str
    worst_case: int
    time_unix_ms: int


@dataclass(frozen=True)
class PublishedEpsilon:
    """A publication, once for each `state` of a unit."""

    state: str
    votes: str
    statement_sha256: str
    beta: float
    sigma: float
    time_unix_ms: int


@dataclass(frozen=True)
class PublicationCharge:
    """The cost of a publication to a unit; `votes` of one person that it applies to, None if unknown."""

    state: str
    party: str
    group: str
    adjacency: str
    worst_case: int
    votes: int | None


@dataclass
class Session:
    """A session."""

    session: str
    querier: str
    plan_digest: str
    plan: str
    grant: str
    queries: int
    opened_unix_ms: int
    asked: int = 0
    state: str = "open"


@dataclass
class Batch:
    """A batch."""

    session: str
    batch: int
    size: int
    ticket: str
    opened_unix_ms: int
    state: str = "ticketed"
    request_digest: str | None = None
    answers_sha256: str | None = None
    answered: int = 0
    released_unix_ms: int | None = None
    check_digest: str | None = None
    checked_unix_ms: int | None = None


@dataclass
class Evaluation:
    """The worst-case cost of an encrypted batch to a unit whose party has evaluated it."""

    session: str
    batch: int
    party: str
    group: str
    adjacency: str
    worst_case: int
    time_unix_ms: int
    charged_unix_ms: int | None = None


@dataclass(frozen=True)
class UnitTotal:
    """The number and the sum of a unit's charges for batches that have ended."""

    party: str
    group: str
    adjacency: str
    charges: int
    worst_case: int


class ChargeAmounts(NamedTuple):
    """A batch's reservation from a unit, its charges for the check and in all, and the spending then."""

    reserved: int
    checked: int
    worst_case: int
    spent: int | None
