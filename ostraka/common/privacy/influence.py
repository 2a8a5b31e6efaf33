"""Influence of a unit on one query."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ostraka.common.privacy.inputs import InputError


@dataclass(frozen=True)
class Influence:
    """What a unit can change in one query: at most `votes` votes of `weight` each.

    A record of a group with copies changes as many votes, a person as many as the party's manifest declares;
    a weight is that of the unit's teachers, in votes. One vote moves in whole, to one other class.
    Raises InputError for fewer votes than one, or a weight that is not a finite number above 0.
    """

    votes: int = 1
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.votes < 1 or self.votes != int(self.votes):
            raise InputError("votes", f"must be a whole number of at least 1, is {self.votes}")
        if not 0 < self.weight < math.inf:
            raise InputError("weight", f"must be a finite number above 0, is {self.weight}")

    @property
    def sensitivity(self) -> float:
        """All of it together, in votes."""
        return self.votes * self.weight


ONE_VOTE = Influence()
"""What a record changes that one teacher of weight 1 was trained on."""
