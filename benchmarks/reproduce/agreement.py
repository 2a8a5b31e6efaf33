"""Whether the numbers of a repeated row agree with its earlier ones."""

import math
import re
from collections.abc import Iterator

from benchmarks.reproduce.cell import Figure, Outcome

NEAR = 0.2
"""Relative tolerance for numbers of a single run: noise and weights are drawn anew."""
DEVIATIONS = 5.0
"""Tolerance in deviations of the difference of two means of as many runs; three runs estimate a deviation
badly."""
_TIME = re.compile(r"\b(milli)?seconds?\b|: times that$")


def disagreements(before: Outcome, after: Outcome) -> Iterator[str]:
    """Yield a sentence for each number that differs or is missing; times depend on the machine: skipped."""
    found = {figure.name: figure for figure in after.figures}
    for old in before.figures:
        new = found.get(old.name)
        if new is None:
            yield f"{old.name}: {old.mean:.4g} before, and is no longer measured"
        elif not _TIME.search(old.name) and not _are_alike(old, new):
            yield f"{old.name}: {old.mean:.4g} before, {new.mean:.4g} now"


def _are_alike(old: Figure, new: Figure) -> bool:
    spread = math.hypot(old.deviation or 0.0, new.deviation or 0.0)
    return abs(old.mean - new.mean) <= max(NEAR * abs(old.mean), old.close, DEVIATIONS * spread)
