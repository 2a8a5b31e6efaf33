"""Ways to share records out among parties: alike, or as different as sites may be."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import NDArray

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
    y: NDArray[np.int64], parties: int, similarity: float, random: np.random.Generator
) -> Shards:
    """`similarity` percent of the records at random, the others sorted by class and cut in pieces.

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
