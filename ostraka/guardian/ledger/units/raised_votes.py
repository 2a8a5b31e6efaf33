"""Numbers of votes of one person that parties raised after entries were charged for fewer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from sqlalchemy import Connection, select

from ostraka.guardian.ledger.store.schema import unit_events, units

_RAISED = (
    select(units.c.party, unit_events.c.entry, unit_events.c.votes)
    .join(units, units.c.id == unit_events.c.unit)
    .where(unit_events.c.kind == "recosted")
    .distinct()
)


@dataclass(frozen=True)
class Raises:
    """Raises of one party: each with the last entry before it, and how many votes one person has from it on.

    These are infinitely many where an older version did not note them.
    """

    found: Sequence[tuple[float, float]]

    @classmethod
    def of(cls, connection: Connection, party: str, votes: int = 1) -> Self:
        """Return a party's raises, and one to `votes` that is made now."""
        of_party = _RAISED.where(units.c.party == party)
        before = [(abs(last), _known(raised)) for _, last, raised in connection.execute(of_party)]
        return cls([*before, (math.inf, votes)])

    @property
    def last(self) -> float:
        """The last entry that a raise came after."""
        return max(last for last, _ in self.found)

    def since(self, entry: int, votes: int) -> float:
        """Return how many votes one person has had in an entry that was charged for so many `votes`."""
        return max([votes, *(raised for last, raised in self.found if last >= entry)])


def all_raises(connection: Connection) -> dict[str, Raises]:
    """Return the raises of all parties that had some."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for party, last, raised in connection.execute(_RAISED):
        found[party].append((abs(last), _known(raised)))
    return {party: Raises(each) for party, each in found.items()}


def _known(votes: int | None) -> float:
    return math.inf if votes is None else votes
