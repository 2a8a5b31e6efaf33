"""The records of each site and of the querying party: a table dealt out repeatedly."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.problem import OwnRecords, Problem
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.records import AdviceRecords
from ostraka.deploy.simulation.schemes import dirichlet, iid

TEST_SHARE = 0.25
"""Fraction of the table used as test records."""
MAX_TEST = 2_000
"""Largest number of test records: they determine a fraction within two points."""
OWN_SHARE = 0.1
"""Default fraction of the table that the querying party has labelled."""
MAX_OWN = 200
"""Largest default number of own records: people seldom label more by hand."""
POOL_SHARE = 0.2
"""Default fraction of the table that it has without labels."""
MAX_POOL = 2_000
"""Largest default pool: enough records to estimate a covariance."""
MANY_RECORDS = 2_000
"""Number of records of a table above which fewer splits are enough."""
MANY_SPLITS = 16
"""Number of splits of a small table: its splits differ much."""
FEW_SPLITS = 6
"""Number of splits of a large table: its splits take long."""


@dataclass(frozen=True)
class Amounts:
    """Number of records of each kind.

    Attributes:
        own: labelled records of the querying party.
        pool: its unlabelled records.
        test: test records of models.
        private: of all sites together, as in the federation.
        shown: of these, the records in the table: each represents `weight` of them.
        queries: number of queries, if the pool represents a larger one; None: the pool.
    """

    own: int
    pool: int
    test: int
    private: int
    shown: int
    queries: int | None = None

    @property
    def weight(self) -> float:
        """Number of private records that one record of the split represents."""
        return self.private / self.shown

    @classmethod
    def of(cls, records: AdviceRecords, options: AdviceOptions) -> "Amounts":
        """Return the amounts; raise `data.too_few` if the table has too few records."""
        n = len(records)
        own = min(MAX_OWN, round(OWN_SHARE * n)) if options.own is None else options.own
        pool = min(MAX_POOL, round(POOL_SHARE * n)) if options.pool is None else options.pool
        test = min(MAX_TEST, round(TEST_SHARE * n))
        left = n - own - pool - test
        if left < options.parties:
            raise OstrakaError(
                ErrorCode.DATA_TOO_FEW,
                f"The {n:,} records are too few: {test:,} test records, {own:,} own records and a pool of "
                f"{pool:,} leave {max(left, 0):,} for {options.parties} sites; lower --own, --pool or "
                "--parties, or bring more records.",
            )
        if options.rows_per_party is None:
            private = round(left * records.rows / n)
            return cls(own, pool, test, private, left)
        private = options.parties * options.rows_per_party
        return cls(own, pool, test, private, min(left, private))


@dataclass(frozen=True)
class Split:
    """One draw of who has which records.

    Attributes:
        records: the table from which all are drawn.
        amounts: of each kind.
        own: rows of the querying party's labelled records.
        pool: of its unlabelled records.
        sites: of each site.
        test: rows of the test records.
        seed: of random draws within the split.
        teachers: number that each site declares; None: as many as its records allow.
    """

    records: AdviceRecords = field(repr=False)
    amounts: Amounts
    own: NDArray[np.int64] = field(repr=False)
    pool: NDArray[np.int64] = field(repr=False)
    sites: tuple[NDArray[np.int64], ...] = field(repr=False)
    test: NDArray[np.int64] = field(repr=False)
    seed: int
    teachers: tuple[int, ...] | None = None

    def take(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.float32], NDArray[Any]]:
        """Return features and labels of rows."""
        return self.records.X[rows], self.records.y[rows]

    @property
    def private(self) -> NDArray[np.int64]:
        """Rows of all sites."""
        return np.concatenate(self.sites)

    def problem(self) -> Problem:
        """Return the problem as learners of sums see it."""
        records = self.records
        target = records.task.target
        return Problem(
            kind=records.kind,
            outputs=records.task.outputs,
            features=records.X.shape[1],
            records=self.amounts.private,
            pool=records.X[self.pool],
            own=OwnRecords(*self.take(self.own)) if len(self.own) else None,
            low=0.0 if target is None else target.min,
            high=1.0 if target is None else target.max,
            categories=records.categories,
        )


def draw_splits(records: AdviceRecords, options: AdviceOptions) -> Iterator[Split]:
    """Yield splits with independent random draws; raise as `Amounts.of`."""
    amounts = Amounts.of(records, options)
    for number in range(count_splits(records)):
        random = np.random.default_rng([options.seed, number])
        ends = np.cumsum([amounts.test, amounts.own, amounts.pool, amounts.shown])
        test, own, pool, private, _ = np.split(random.permutation(len(records)), ends)
        sites = share_out(records, private, options, random)
        yield Split(records, amounts, own, pool, sites, test, number)


def count_splits(records: AdviceRecords) -> int:
    """Return the number of splits of a table."""
    return MANY_SPLITS if len(records) <= MANY_RECORDS else FEW_SPLITS


def share_out(
    records: AdviceRecords,
    private: NDArray[np.int64],
    options: AdviceOptions,
    random: np.random.Generator,
) -> tuple[NDArray[np.int64], ...]:
    """Return the rows of each site; skewed sites differ in classes, and in numbers of records.

    Raises `config.invalid` for skew if records have no single class.
    """
    if options.skew is None:
        parts = iid(len(private), options.parties, random)
    elif records.kind == "classes":
        parts = dirichlet(records.y[private], options.parties, options.skew, random)
    else:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "--skew is by class, and these records have no single class each: leave it out.",
        )
    return tuple(private[rows] for rows in parts)
