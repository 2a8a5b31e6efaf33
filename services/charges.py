"""What a batch costs a party at worst, and the most it is willing to pay; functions of public plans alone."""

from dataclasses import dataclass
from typing import Self

from pydantic import TypeAdapter

from common.mechanism import AnyMechanism, Mechanism
from common.privacy import worst_case

_MECHANISM: TypeAdapter[AnyMechanism] = TypeAdapter(Mechanism)


@dataclass(frozen=True)
class Charge:
    """What a batch costs at worst: this many queries of one mechanism, `votes_per_person` votes moved.

    `classes` counts the task's classes or labels.
    """

    mechanism: AnyMechanism
    queries: int
    votes_per_person: int
    classes: int

    def amount(self, order: float) -> int:
        """Worst-case rdp at `order` as an integer amount of `common.privacy.AMOUNT_UNIT`, rounded up."""
        cost = worst_case(self.mechanism, order, float(self.votes_per_person), classes=self.classes)
        return cost.reservation(self.queries, self.mechanism.answers(self.classes))

    @property
    def mechanism_json(self) -> str:
        """The mechanism as the journal keeps it."""
        return _MECHANISM.dump_json(self.mechanism).decode()

    @classmethod
    def of_json(cls, mechanism: str, queries: int, votes_per_person: int, classes: int) -> Self:
        """A charge as the journal kept it."""
        return cls(_MECHANISM.validate_json(mechanism), queries, votes_per_person, classes)


@dataclass(frozen=True)
class Cap:
    """The most that may be charged here, ever: an integer amount at one Renyi order."""

    order: float
    amount: int
