"""Values that the ledger stores and returns; values of sessions are in `session_values`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.guardian.ledger.store.amounts import add, check_amount
from ostraka.protos.ostraka.v1 import common_pb2


class UnitKey(NamedTuple):
    """Records of one party that share a budget; the ledger locks units in the order of their keys."""

    party: str
    group: str
    adjacency: str

    def __str__(self) -> str:
        """Return the unit as text for people."""
        return f"{self.party}/{self.group} ({self.adjacency})"


@dataclass(frozen=True)
class Charge:
    """The cost of one release to a unit, in whole amounts of AMOUNT_UNIT, rounded up.

    Attributes:
        unit: the unit that pays.
        worst_case: the cost of the given answers, whatever the votes.
        data_dependent: their cost on these votes.
        at_most: the largest cost of any answers on these votes. A data-dependent budget must have room for
            it, so that no answer decides whether a batch is released.

    Raises ValueError for an amount that is negative or not an integer.
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
    """The terms of a unit's budget.

    Attributes:
        epsilon: the limit at `delta`.
        delta: of the guarantee.
        order: Renyi order of the filter.
        enforce: which costs count against the budget.
        level: the consent level whose epsilon this is, if there is one.
    """

    epsilon: float
    delta: float
    order: float
    enforce: str
    level: str | None = None


@dataclass(frozen=True)
class Budget:
    """A unit's budget and its worst-case spending, in amounts at `order`.

    Attributes:
        key: the unit.
        epsilon: the limit at `delta`.
        delta: of the guarantee.
        order: Renyi order of the filter.
        enforce: which costs count against it.
        budget: the limit as an amount; `spent` and `reserved` are the amounts used.
        state: "active", "frozen" or "withdrawn"; the last two exclude the unit from further batches.
        level: the consent level whose epsilon this is, if there is one.
        agreements: number of the owning party's agreements that were used on it.
        spent_before: spending of earlier periods of a renewed budget.
        broken_unix_ms: the time since which `epsilon` no longer covers the unit's lifetime, if it does not.
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
        """The amount neither spent nor reserved in the worst case; 0 if the budget was lowered below that."""
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
        """The increase of the worst-case epsilon if everything reserved is charged."""
        return epsilon((self.spent + self.reserved) * AMOUNT_UNIT, self.order, self.delta) - (
            self.epsilon_worst_case
        )


@dataclass(frozen=True)
class StoredManifest:
    """A party's latest manifest: the serialized Manifest, and its Signed envelope."""

    site: str
    manifest: bytes
    signed: bytes


@dataclass(frozen=True)
class StoredParty:
    """A party's standing: "added", "active", "suspended" or "removed".

    `reconciled` says whether it has sent its receipts since the ledger was last restored.
    """

    site: str
    state: str
    reconciled: bool
    since_unix_ms: int

    @property
    def shown_state(self) -> str:
        """The standing to display: "unreconciled" for an active party whose receipts are awaited."""
        return "unreconciled" if self.state == "active" and not self.reconciled else self.state


@dataclass(frozen=True)
class StoredPolicy:
    """A policy that was applied, as TOML, and the reason."""

    version: int
    toml: str
    reason: str
    applied_unix_ms: int


@dataclass(frozen=True)
class AppliedRevocations:
    """The revocation lists (PEM) in the audit log up to its row `row`, in its order.

    It is not the order of their numbers: if lists reached two guardians, the older may come last.
    """

    row: int
    pems: tuple[bytes, ...]


@dataclass(frozen=True)
class Registered:
    """The reply to a registration; `reconcile` asks the party for receipts before it may vote."""

    head: common_pb2.AuditHead
    epoch: int
    reconcile: bool


@dataclass(frozen=True)
class Owed:
    """The worst-case cost of a batch to one of a party's units, according to its receipt."""

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
    """An event of a unit, with the `epsilon` of its budget and its spending, `spent`, afterwards.

    `kind` is "set", "lowered", "raised", "renewed", "frozen", "thawed", "withdrawn", "consented",
    "reconciled", "inherited", "recosted" or "charged". A charge names its batch, other events a reason if
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
    """A `RecordedCharge` whose data-dependent amount is still encrypted; empty if it is the worst case."""

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int
    sealed: bytes
    released_unix_ms: int


@dataclass(frozen=True)
class RecordedCharge:
    """A stored charge. `data_dependent` is None unless the reader has the ledger's key.

    `released_unix_ms` is the time of its batch's release; without one, of its death if it was evaluated, or
    of its check; for other kinds, of the charge. `spent` is the unit's spending in its period at that time. A
    charge without a session has its entry's number as batch.
    """

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int
    data_dependent: int | None
    released_unix_ms: int
    spent: int = 0
    kind: str = "batch"
