"""Worst-case cost of a batch to a party, and the most it accepts; functions of public plans alone."""

from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter

from ostraka.common.mechanism import Mechanism

ALL = "all"
"""The group of a party's records that share one budget."""
_MECHANISM = TypeAdapter(Mechanism)


@dataclass(frozen=True)
class GroupCharge:
    """What a batch costs the records of one group at worst.

    Attributes:
        mechanism: how the batch is answered.
        queries: those on which teachers of the group vote.
        classes: the task's classes or labels.
        sensitivity: what one person's records of the group change in one query, in votes.
        group: whose records.
        adjacency: what is charged, a "record" or a "label".
    """

    mechanism: Mechanism
    queries: int
    classes: int
    sensitivity: float = 1.0
    group: str = ALL
    adjacency: str = "record"

    def amount(self, order: float) -> int:
        """Worst-case rdp at `order`, a whole number of `ostraka.common.privacy.AMOUNT_UNIT`, rounded up."""
        cost = self.mechanism.worst_case(order, self.sensitivity, classes=self.classes)
        return cost.reservation(self.queries, self.mechanism.answers(self.classes))

    @property
    def mechanism_json(self) -> str:
        """The mechanism as the journal keeps it."""
        return _MECHANISM.dump_json(self.mechanism).decode()

    @classmethod
    def of_json(
        cls, mechanism: str, queries: int, classes: int, sensitivity: float, group: str, adjacency: str
    ) -> Self:
        """Read a charge as the journal kept it."""
        return cls(_MECHANISM.validate_json(mechanism), queries, classes, sensitivity, group, adjacency)


@dataclass(frozen=True)
class Cap:
    """The most that may be charged to any one record here, ever: an integer amount at one Renyi order."""

    order: float
    amount: int
