"""Ways to divide records among parties, and levels of consent and their budgets among records."""

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
"""The rows of every party; together they are all rows, each exactly once."""

OPTION: Mapping[Scheme, tuple[str, str]] = {
    "label-sorted": ("similarity", "the percentage of records that are shared out at random"),
    "dirichlet": ("alpha", "small for parties that differ, large for parties alike"),
    "column": ("by", "the name of the column"),
}
"""The one option that only this scheme needs, and what to give."""


def check_option(scheme: Scheme, given: Mapping[str, object]) -> None:
    """Raise ValueError unless the scheme's own option is given, and no other scheme's."""
    for other, (name, meaning) in OPTION.items():
        if other == scheme and given[name] is None:
            raise ValueError(f"split {scheme} needs {name}, {meaning}")
        if other != scheme and given[name] is not None:
            raise ValueError(f"{name} is for split {other}, and split is {scheme}")


def iid(records: int, parties: int, random: np.random.Generator) -> Shards:
    """Divide at random; parties hold equally many records, up to one."""
    return tuple(np.array_split(random.permutation(records), parties))


def label_sorted(
    y: NDArray[np.int64 | np.float64], parties: int, similarity: float, random: np.random.Generator
) -> Shards:
    """Divide `similarity` percent at random; sort the others by class or number and cut them in pieces.

    Dodwadmath and Stich 2022, section 3.

    Parties hold equally many records of classes `y` (N,), up to one, and also of the random ones. Records of
    one class are in random order before the cuts, so if a cut falls within a class, chance decides which
    records are on which side. With fewer classes than parties several parties hold one class.
    """
    order = random.permutation(len(y))
    dealt, others = np.split(order, [round(len(y) * similarity / 100)])
    ordered = others[np.argsort(y[others], kind="stable")]
    sizes = _equal_sizes(len(y), parties) - _equal_sizes(len(dealt), parties)
    pieces = np.split(ordered, np.cumsum(sizes)[:-1])
    alike = np.array_split(dealt, parties)
    return tuple(np.concatenate(pair) for pair in zip(alike, pieces, strict=True))


def dirichlet(y: NDArray[np.int64], parties: int, alpha: float, random: np.random.Generator) -> Shards:
    """Divide each class by its own shares, drawn from a symmetric Dirichlet(alpha) over the parties.

    A party's number of records of a class of `y` (N,) is its share, up to one. Parties may hold different
    numbers of records, or none at all. This is the split of Yurochkin et al. (2019, "Bayesian nonparametric
    federated learning of neural networks", section 4).
    """
    by_class = []
    for label in np.unique(y):
        rows = random.permutation(np.flatnonzero(y == label))
        shares = random.dirichlet(np.full(parties, alpha))
        cuts = np.round(np.cumsum(shares)[:-1] * len(rows)).astype(np.int64)
        by_class.append(np.split(rows, cuts))
    return tuple(np.concatenate(parts) for parts in zip(*by_class, strict=True))


def by_values(values: NDArray[np.float32], parties: int) -> Shards:
    """Divide into consecutive ranges of `values` (N,), one per party; no value occurs at two parties.

    If there are as many values as parties, each party gets one; more values are cut at the values nearest to
    the quantiles, so that parties hold about equally many records. Raises ValueError for fewer values than
    parties.
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
"""Default fractions of the largest epsilon for these levels."""
_ROUNDING = 1e-6  # shares such as 1/3 are written with a few digits


def parse_numbers(value: Any) -> Any:
    """Return `low=0.3,high=0.7` as a mapping, and other types unchanged. Raises ValueError for other text."""
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
    """Return epsilon of every level with a share: as given, else the level's default part of `epsilon`.

    Raises ValueError naming a level that has neither.
    """
    known = given or {name: part * epsilon for name, part in SHARE_OF_EPSILON.items()}
    unknown = [name for name in shares if name not in known]
    if unknown:
        raise ValueError(f"consent level '{unknown[0]}' has no epsilon; give it as levels")
    return {name: known[name] for name in shares}


def with_consent(data: Dataset, shares: Mapping[str, float], random: np.random.Generator) -> Dataset:
    """Return the records, each person's at a random level, with the levels' shares exact to one person.

    Records without ids belong to a person each.
    """
    whose = np.arange(len(data)) if data.ids is None else np.unique(data.ids, return_inverse=True)[1]
    persons = int(whose.max()) + 1
    bounds = np.round(np.cumsum(list(shares.values())) * persons).astype(int)
    levels = random.permutation(np.repeat(list(shares), np.diff(bounds, prepend=0)))
    return replace(data, consent=tuple(levels[whose].tolist()))
