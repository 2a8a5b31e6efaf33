"""The gain from more records, estimated from own records; a part of them represents the federation's."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ostraka.deploy.advice.attempts import Attempt
from ostraka.deploy.advice.measures import Measured
from ostraka.deploy.advice.splits import Amounts

FIGURES = ("accuracy", "balanced_accuracy", "r2")


@dataclass(frozen=True)
class Growth:
    """How a figure grows with records: it misses its limit by `slope` over the number of records.

    A model with a fixed number of parameters approaches its limit at this rate, so the estimate is more
    likely too small than too large.
    """

    slope: float

    @classmethod
    def between(cls, few: float, many: float, amounts: Amounts) -> "Growth":
        """Return the growth from own records alone to all records of the table."""
        own = amounts.own
        return cls(max(0.0, many - few) / (1 / own - 1 / (own + amounts.shown)))

    def gain(self, before: float, after: float) -> float:
        """Return the gain of a figure from `before` records to `after` records."""
        return self.slope * (1 / before - 1 / after)


def grow(attempts: Sequence[Attempt], amounts: Amounts, labelled: int) -> list[Attempt]:
    """Return the attempts as they would be with all records.

    "Own" then means all own records, as in the splits' `pooled` attempts. Ways that learn from the sites have
    the declared number of records, and votes have as many labels as budgets pay for.

    Args:
        attempts: on splits of own records.
        amounts: of the splits.
        labelled: number of all own records.
    """
    growth = {name: _growth(attempts, name, amounts) for name in FIGURES}
    return list(_grow(attempts, growth, amounts, labelled))


def _growth(attempts: Sequence[Attempt], name: str, amounts: Amounts) -> Growth:
    few, many = (
        [getattr(one.measured, name) for one in attempts if (one.way, one.variant) == (way, "linear")]
        for way in ("own", "pooled")
    )
    if not few or None in few:
        return Growth(0.0)
    return Growth.between(float(np.mean(few)), float(np.mean(many)), amounts)


def _grow(
    attempts: Iterable[Attempt], growth: dict[str, Growth], amounts: Amounts, labelled: int
) -> Iterator[Attempt]:
    shown = amounts.own + amounts.shown
    everything = labelled + amounts.private
    for one in attempts:
        match one.way:
            case "own":
                continue
            case "pooled":
                yield replace(_add(one, growth, shown, labelled), way="own")
                yield _add(one, growth, shown, everything)
            case "votes":
                learned = int(one.settings["learned"])
                yield _add(one, growth, amounts.own + learned, labelled + one.labels)
            case "sums" | "randomised labels":
                yield _add(one, growth, shown, everything)
            case _:
                yield one


def _add(one: Attempt, growth: dict[str, Growth], before: float, after: float) -> Attempt:
    measured = {
        name: None if value is None else min(1.0, value + growth[name].gain(before, after))
        for name, value in ((name, getattr(one.measured, name)) for name in FIGURES)
    }
    return replace(one, measured=Measured(**measured))
