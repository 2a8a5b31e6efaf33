"""Parties that the others waited for in batch after batch, as the records of runs have it."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from ostraka.client.session.run_state import RunState

SHOWN = 5
"""Parties that a sentence names."""


@dataclass(frozen=True)
class Latecomers:
    """How often each party was the last to answer, or cut off.

    A party may be slow by its machine or by intent, which nobody can tell; no vote has a part in it.

    Attributes:
        batches: those whose votes were in.
        last: by party, in how many of them, the most often first.
    """

    batches: int
    last: Mapping[str, int]

    @classmethod
    def of(cls, states: Iterable[RunState]) -> Self:
        """Count them in runs; batches that earlier versions asked have no last."""
        known = [batch.last for state in states for batch in state.batches if batch.last]
        counted = Counter(site for last in known for site in last)
        ordered = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        return cls(len(known), dict(ordered))

    def __str__(self) -> str:
        """Return a sentence like "Last in 9 of 10 batches: beta; in 1: gamma."; nothing where nobody was."""
        told = [f"in {count} of {self.batches} batches: {site}" for site, count in self.last.items()]
        return f"Last {'; '.join(told[:SHOWN])}." if told else ""
