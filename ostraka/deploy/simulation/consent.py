"""Budgets in a simulation: which share of records is at which level, and whose epsilon is which."""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ostraka.common.datasets import Dataset

SHARE_OF_EPSILON: Mapping[str, float] = {"low": 0.25, "medium": 0.5, "high": 1.0}
"""What part of the largest epsilon these levels stand for, where nobody says."""
_ROUNDING = 1e-6


def named_numbers(value: Any) -> Any:
    """`low=0.3,high=0.7` as a mapping; anything but text as it is. Raises ValueError for other text."""
    if not isinstance(value, str):
        return value
    pairs = [part.split("=") for part in value.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError(f"give names and numbers as low=0.3,high=0.7, not '{value}'")
    found = {name.strip(): float(number) for name, number in pairs}
    if len(found) < len(pairs):
        raise ValueError(f"name each once, not as in '{value}'")
    return found


def check_shares(shares: Mapping[str, float]) -> None:
    """Raise ValueError unless the shares of records are positive and add up to one."""
    if not shares or min(shares.values()) <= 0 or abs(sum(shares.values()) - 1) > _ROUNDING:
        raise ValueError(f"shares of records are positive and add up to 1, not {dict(shares)}")


def check_epsilons(epsilons: Mapping[str, float] | None, sites: Collection[str]) -> None:
    """Raise ValueError unless epsilons are finite, above 0, and of parties of the simulation."""
    for name, epsilon in (epsilons or {}).items():
        if name not in sites:
            raise ValueError(f"epsilons: there is no party '{name}', only {', '.join(sites)}")
        if not 0 < epsilon < math.inf:
            raise ValueError(f"epsilons: party '{name}' needs a finite number above 0, not {epsilon:g}")


def level_epsilons(
    shares: Mapping[str, float], given: Mapping[str, float] | None, epsilon: float
) -> dict[str, float]:
    """Epsilon of every level that has a share: as given, else that part of `epsilon` its name stands for.

    Raises ValueError naming a level that neither has.
    """
    known = given or {name: part * epsilon for name, part in SHARE_OF_EPSILON.items()}
    unknown = [name for name in shares if name not in known]
    if unknown:
        raise ValueError(f"consent level '{unknown[0]}' has no epsilon; give it as levels")
    return {name: known[name] for name in shares}


def with_consent(data: Dataset, shares: Mapping[str, float], random: np.random.Generator) -> Dataset:
    """Return the records, each at a random level, the levels' shares kept to within one record."""
    bounds = np.round(np.cumsum(list(shares.values())) * len(data)).astype(int)
    levels = np.repeat(list(shares), np.diff(bounds, prepend=0))
    return replace(data, consent=tuple(random.permutation(levels).tolist()))
