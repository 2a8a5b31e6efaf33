"""Values that go into the ledger and come out of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from common.privacy import AMOUNT_UNIT, epsilon

AMOUNT_MAX = 2**62
"""Where amounts saturate (about 4.6 million of rdp), so that every sum fits the database's integers."""


class UnitKey(NamedTuple):
    """Records of one party that share a budget; keys order as the ledger locks them."""

    party: str
    group: str
    adjacency: str

    def __str__(self) -> str:
        """The unit as people read it."""
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
class Budget:
    """A unit's budget and what was spent of it in the worst case, in amounts at `order`."""

    key: UnitKey
    epsilon: float
    delta: float
    order: float
    enforce: str
    budget: int
    spent: int
    reserved: int

    @property
    def available(self) -> int:
        """What is neither spent nor reserved in the worst case; 0 after a budget was lowered below that."""
        return max(0, self.budget - self.spent - self.reserved)

    @property
    def epsilon_worst_case(self) -> float:
        """Worst-case epsilon of all charges so far, at this budget's order and delta."""
        return epsilon(self.spent * AMOUNT_UNIT, self.order, self.delta)

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
class StoredSession:
    """A session as opened; `state` is "open", "closed" or "ended", `queries` the most it may ask."""

    session_id: str
    querier: str
    plan: bytes
    plan_digest: bytes
    grant: bytes
    state: str
    queries: int


@dataclass(frozen=True)
class SessionSummary:
    """A session's state and counts of queries: planned, in live batches, answered."""

    session_id: str
    querier: str
    state: str
    queries: int
    asked: int
    answered: int
    opened_unix_s: int


@dataclass(frozen=True)
class StoredBatch:
    """A batch's ticket and `state`: "ticketed", "released" (then with answers) or "dead"."""

    session_id: str
    batch_id: int
    size: int
    ticket: bytes
    state: str
    answers: bytes | None


@dataclass(frozen=True)
class RecordedCharge:
    """A stored charge. `data_dependent` is None unless the reader holds the ledger's key."""

    session_id: str
    batch_id: int
    unit: UnitKey
    worst_case: int
    data_dependent: int | None
    released_unix_ms: int


def check_amount(name: str, value: int) -> None:
    """Raise ValueError unless `value` is an integer amount of 0 or more."""
    if type(value) is not int or value < 0:
        raise ValueError(f"{name}: must be a whole amount of 0 or more, is {value!r}")


def add(total: int, amount: int) -> int:
    """The sum of two amounts, held at AMOUNT_MAX."""
    return min(total + amount, AMOUNT_MAX)
