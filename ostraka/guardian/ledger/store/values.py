"""Values that go into the ledger and come out of it; those of sessions are in `session_values`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.ledger.store.amounts import add, check_amount
from ostraka.protos.ostraka.v1 import common_pb2


class UnitKey(NamedTuple):
    """Records of one party that share a budget; keys order as the ledger locks them."""

    party: str
    group: str
    adjacency: str

    def __str__(self) -> str:
        """Return the unit as people read it."""
        return f"{self.party}/{self.group} ({self.adjacency})"


@dataclass(frozen=True)
class Charge:
    """What one release cost a unit, in whole amounts of AMOUNT_UNIT, rounded up.

    Attributes:
        unit: who pays.
        worst_case: what the answers given cost whatever the votes.
        data_dependent: what they cost on these votes.
        at_most: what other answers could have cost on these votes. A data-dependent budget must have room
            for it, so that whether a batch is released depends on no answer.

    Raises ValueError for an amount that is negative or no integer.
    """

    unit: UnitKey
    worst_case: int
    data_dependent: int
    at_most: int = 0

    def __post_init__(self) -> None:
        """Check the amounts."""
        check_amount("worst_case", self.worst_case)
        check_amount("data_dependent", self.data_dependent)
        check_amount("at_most", self.at_most)


@dataclass(frozen=True)
class BudgetTerms:
    """What a unit's budget promises.

    Attributes:
        epsilon: what may be spent at `delta`.
        delta: of the promise.
        order: Renyi order of the filter.
        enforce: which costs the budget is held to.
        level: the consent level whose epsilon this is, if it is one's.
    """

    epsilon: float
    delta: float
    order: float
    enforce: str
    level: str | None = None


@dataclass(frozen=True)
class Budget:
    """A unit's budget and what was spent of it in the worst case, in amounts at `order`.

    Attributes:
        key: whose it is.
        epsilon: what it promises at `delta`.
        delta: of the promise.
        order: Renyi order of the filter.
        enforce: which costs it is held to.
        budget: what may be spent, `spent` and `reserved` what is.
        state: "active", "frozen" or "withdrawn"; the last two take part in no further batch.
        level: the consent level whose epsilon this is, if it is one's.
        agreements: how many agreements of the owning party were used on it.
        spent_before: what earlier periods of a renewed budget spent.
        broken_unix_ms: since when `epsilon` no longer covers the unit's lifetime, if so.
    """

    key: UnitKey
    epsilon: float
    delta: float
    order: float
    enforce: str
    budget: int
    spent: int
    reserved: int
    state: str = "active"
    level: str | None = None
    agreements: int = 0
    spent_before: int = 0
    broken_unix_ms: int | None = None

    @property
    def available(self) -> int:
        """What is neither spent nor reserved in the worst case; 0 after a budget was lowered below that."""
        return max(0, self.budget - self.spent - self.reserved)

    @property
    def used(self) -> bool:
        """Whether anything was ever charged to it, or is reserved."""
        return bool(self.spent or self.reserved or self.spent_before)

    @property
    def epsilon_worst_case(self) -> float:
        """Worst-case epsilon of all charges so far, at this budget's order and delta."""
        return epsilon(self.spent * AMOUNT_UNIT, self.order, self.delta)

    @property
    def epsilon_lifetime(self) -> float:
        """Worst-case epsilon of everything since the unit was made, over all renewals."""
        return epsilon(add(self.spent_before, self.spent) * AMOUNT_UNIT, self.order, self.delta)

    @property
    def epsilon_reserved(self) -> float:
        """By how much worst-case epsilon grows if everything reserved is charged."""
        return epsilon((self.spent + self.reserved) * AMOUNT_UNIT, self.order, self.delta) - (
            self.epsilon_worst_case
        )


@dataclass(frozen=True)
class StoredManifest:
    """A party's latest manifest: the serialized Manifest, and the Signed that it came in."""

    site: str
    manifest: bytes
    signed: bytes


@dataclass(frozen=True)
class StoredParty:
    """A party's standing: "added", "active", "suspended" or "removed".

    `reconciled` says whether its receipts are in since the ledger was last restored.
    """

    site: str
    state: str
    reconciled: bool
    since_unix_ms: int

    @property
    def shown_state(self) -> str:
        """The standing as people are told it: "unreconciled" where an active party's receipts are awaited."""
        return "unreconciled" if self.state == "active" and not self.reconciled else self.state


@dataclass(frozen=True)
class StoredPolicy:
    """A policy that was applied, as TOML, and why."""

    version: int
    toml: str
    reason: str
    applied_unix_ms: int


@dataclass(frozen=True)
class AppliedRevocations:
    """The revocation lists (PEM) that the audit log holds up to its row `row`, in its order.

    It is not the order of their numbers: of lists that reached two guardians, the older may come last.
    """

    row: int
    pems: tuple[bytes, ...]


@dataclass(frozen=True)
class Registered:
    """What a party is told at registration; `reconcile` asks it for receipts before it may vote."""

    head: common_pb2.AuditHead
    epoch: int
    reconcile: bool


@dataclass(frozen=True)
class Owed:
    """What a party's receipt says a batch cost one of its units at worst."""

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int


@dataclass(frozen=True)
class StoredAuditRow:
    """A row of the audit log as stored: `payload` is JSON, `signed` the serialized Signed over its head."""

    sequence: int
    time_unix_ms: int
    payload: str
    previous: bytes
    hash: bytes
    signed: bytes


@dataclass(frozen=True)
class UnitEvent:
    """Something that happened to a unit: `epsilon` of its budget and what it had `spent` after it.

    `kind` is "set", "lowered", "raised", "renewed", "frozen", "thawed", "withdrawn", "consented",
    "reconciled", "inherited", "recosted" or "charged"; a charge names its batch, the others a reason where
    there is one.
    """

    time_unix_ms: int
    kind: str
    epsilon: float
    spent: int
    reason: str = ""
    session_id: str = ""
    batch_id: int = 0


@dataclass(frozen=True)
class SealedCharge:
    """A `RecordedCharge` whose data-dependent amount is still encrypted; empty where it is the worst case."""

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int
    sealed: bytes
    released_unix_ms: int


@dataclass(frozen=True)
class RecordedCharge:
    """A stored charge. `data_dependent` is None unless the reader holds the ledger's key.

    `released_unix_ms` is when its batch was released; if it was not, when it died evaluated, or was checked;
    for other kinds, when they were charged. `spent` is what the unit had spent then, in its period. What is
    of no session has its entry's number for a batch.
    """

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int
    data_dependent: int | None
    released_unix_ms: int
    spent: int = 0
    kind: str = "batch"
