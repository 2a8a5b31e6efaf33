"""Ways to share records out among parties, and levels of consent and their budgets among records."""

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset

Scheme = Literal["iid", "label-sorted", "dirichlet", "column"]
Rows = NDArray[np.int64]
Shards = tuple[Rows, ...]
"""The rows of every party; together they are all rows, each of them once."""

OPTION: Mapping[Scheme, tuple[str, str]] = {
    "label-sorted": ("similarity", "the percentage of records that are shared out at random"),
    "dirichlet": ("alpha", "small for parties that differ, large for parties alike"),
    "column": ("by", "the name of the column"),
}
"""The one option that a scheme needs and no other scheme has, and what to give."""


def check_option(scheme: Scheme, given: Mapping[str, object]) -> None:
    """Raise ValueError unless the scheme's own option is given, and none of another scheme's."""
    for other, (name, meaning) in OPTION.items():
        if other == scheme and given[name] is None:
            raise ValueError(f"split {scheme} needs {name}, {meaning}")
        if other != scheme and given[name] is not None:
            raise ValueError(f"{name} is for split {other}, and split is {scheme}")


def iid(records: int, parties: int, random: np.random.Generator) -> Shards:
    """At random; parties hold equally many records, up to one."""
    return tuple(np.array_split(random.permutation(records), parties))


def label_sorted(
    y: NDArray[np.int64 | np.float64], parties: int, similarity: float, random: np.random.Generator
) -> Shards:
    """`similarity` percent of the records at random, the others sorted by class or number and cut in pieces.

    Dodwadmath and Stich 2022, section 3.

    Parties hold equally many records of classes `y` (N,), up to one, and so they do of those at random.
    Records of one class are in random order before the cuts, so where a cut falls within a class, chance
    says which records are on which side. Fewer classes than parties are no error: several then hold one.
    """
    order = random.permutation(len(y))
    dealt, others = np.split(order, [round(len(y) * similarity / 100)])
    ordered = others[np.argsort(y[others], kind="stable")]
    sizes = _equal_sizes(len(y), parties) - _equal_sizes(len(dealt), parties)
    pieces = np.split(ordered, np.cumsum(sizes)[:-1])
    alike = np.array_split(dealt, parties)
    return tuple(np.concatenate(pair) for pair in zip(alike, pieces, strict=True))


def dirichlet(y: NDArray[np.int64], parties: int, alpha: float, random: np.random.Generator) -> Shards:
    """Each class by shares of its own, drawn from a symmetric Dirichlet(alpha) over the parties.

    A party's records of a class of `y` (N,) are its share of them, up to one. Parties may hold numbers of
    records that differ, and none at all. This is the split of Yurochkin et al. (2019, "Bayesian
    nonparametric federated learning of neural networks", section 4).
    """
    by_class = []
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        shares = random.dirichlet(np.full(parties, alpha))
        cuts = np.round(np.cumsum(shares)[:-1] * len(rows)).astype(np.int64)
        by_class.append(np.split(rows, cuts))
    return tuple(np.concatenate(parts) for parts in zip(*by_class, strict=True))


def by_values(values: NDArray[np.float32], parties: int) -> Shards:
    """Consecutive ranges of `values` (N,), one for each party; no value occurs at two parties.

    As many values as parties give each one value; more are cut at the values nearest to the quantiles, so
    that parties hold about equally many records. Raises ValueError for fewer values than parties.
    """
    order = np.argsort(values, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(values[order])) + 1, len(order))
    if len(ends) < parties:
        raise ValueError(f"{len(ends)} values for {parties} parties")
    cuts: list[int] = []
    first = 0
    for party in range(1, parties):
        possible = ends[first : len(ends) - (parties - party)]
        nearest = int(np.argmin(np.abs(possible - party * len(order) / parties)))
        cuts.append(int(possible[nearest]))
        first += nearest + 1
    return tuple(np.split(order, cuts))


def _equal_sizes(records: int, parties: int) -> NDArray[np.int64]:
    """Return the sizes that `numpy.array_split` gives its parts."""
    return records // parties + (np.arange(parties) < records % parties)


SHARE_OF_EPSILON: Mapping[str, float] = {"low": 0.25, "medium": 0.5, "high": 1.0}
"""What part of the largest epsilon these levels stand for, where nobody says."""
_ROUNDING = 1e-6  # shares such as 1/3 are written with a few digits


def parse_numbers(value: Any) -> Any:
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
    """Return the records, each person's at a random level, the levels' shares kept to within one person.

    Records without ids are of a person each.
    """
    whose = np.arange(len(data)) if data.ids is None else np.unique(data.ids, return_inverse=True)[1]
    persons = int(whose.max()) + 1
    bounds = np.round(np.cumsum(list(shares.values())) * persons).astype(int)
    levels = random.permutation(np.repeat(list(shares), np.diff(bounds, prepend=0)))
    return replace(data, consent=tuple(levels[whose].tolist()))
