"""The problem to learn, from a task, a pool and own labelled records."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.problem import Category, Kind, OwnRecords, Problem
from ostraka.client.run.labels import PoolIds
from ostraka.client.run.pool import require_ids
from ostraka.client.run.reading import tell_reading
from ostraka.client.run.site import QuerySection, SiteEncoder
from ostraka.common.config import SiteConfig, load_section
from ostraka.common.datasets import Dataset
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Source, Task
from ostraka.common.task.columns import CategoryColumn
from ostraka.common.task.input import TableInput

Features = NDArray[np.float32]


@dataclass(frozen=True)
class KnownRecords:
    """The querying party's records for a task, as models take them, after the encoder.

    Attributes:
        task: the task of all records.
        pool: unlabelled records (m, F), or None.
        ids: identifiers of the pool's records.
        own: labelled records, or None.
        test: labelled records to measure on, or None.
        encoded: whether there is an encoder.
        hidden: why parties may not learn the pool's statistics, as a sentence; empty if they may.
        reading: what was guessed or left out while they were read, one sentence each.
    """

    task: Task
    pool: Features | None = field(repr=False)
    ids: PoolIds | None = field(repr=False)
    own: OwnRecords | None = field(repr=False)
    test: OwnRecords | None = field(repr=False)
    encoded: bool
    hidden: str = ""
    reading: tuple[str, ...] = ()

    @classmethod
    def read(
        cls,
        task: Task,
        encoder: SiteEncoder,
        pool: Source | None,
        own: Source | None,
        test: Source | None = None,
    ) -> "KnownRecords":
        """Read the records.

        Raises:
            OstrakaError: as `Task.pool` and `Task.records`, `data.missing` or `data.shape` if the pool's ids
                are missing or repeated, and `model.invalid` if the records do not fit the encoder.
        """
        unlabelled = None if pool is None else task.pool(pool)
        labelled = None if own is None else task.records(own)
        tested = None if test is None else task.records(test)
        if unlabelled is not None:
            require_ids(task, unlabelled)
        return cls(
            task,
            None if unlabelled is None else encoder.encode(task.prepare(unlabelled.X)),
            None if unlabelled is None else PoolIds.of(task, unlabelled),
            None if labelled is None else _prepare(task, encoder, labelled),
            None if tested is None else _prepare(task, encoder, tested),
            bool(encoder.name),
            reading=tell_reading({"The pool": unlabelled, "Own records": labelled, "Test records": tested}),
        )

    @property
    def features(self) -> int:
        """Number of features of a record, as models take it."""
        if self.pool is not None:
            return int(self.pool.shape[1])
        return len(self.task.features) if self.own is None else int(self.own.X.shape[1])

    def problem(self, records: int, *, tell_pool: bool) -> Problem:
        """Return the problem of learning from `records` records; `tell_pool` as `Problem.tells_pool`.

        Raises:
            OstrakaError: `config.invalid` if nothing determines the range of features, `data.too_few` for an
                encoder without any record here.
        """
        if self.pool is None or not tell_pool:
            self._require_ranges()
        target = self.task.target
        return Problem(
            kind=kind_of(self.task),
            outputs=self.task.outputs,
            features=self.features,
            records=records,
            pool=self.pool,
            own=self.own,
            low=0.0 if target is None else target.min,
            high=1.0 if target is None else target.max,
            categories=() if self.encoded else categories_of(self.task),
            tells_pool=tell_pool,
            image=self.encoded or len(self.task.input.shape) > 1,
            shape=() if self.encoded else self.task.input.shape,
        )

    def digests(self) -> dict[str, str]:
        """Return the SHA-256 in hex of pool and own records, empty if there are none."""
        own = None if self.own is None else [self.own.X, self.own.y]
        return {
            "pool_sha256": _digest(None if self.pool is None else [self.pool]),
            "own_sha256": _digest(own),
        }

    def _require_ranges(self) -> None:
        """Raise unless the task's ranges put all features between 0 and 1."""
        task = self.task
        if self.encoded:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                "The task gives no ranges for an encoder's features: give a pool whose mean parties may "
                "be told.",
            )
        low, high = task.input.bounds()
        if task.input.preprocessing == "none" and not ((low >= 0).all() and (high <= 1).all()):
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"The task '{task.name}' leaves features on scales of their own (preprocessing none): give "
                'a pool, whose mean parties may be told, or agree on preprocessing = "range".',
            )


RANGES_SAY = "the task's ranges are used instead, which may make the model worse."
HIDDEN_BY_SITE = f"site.toml of this site does not let parties learn statistics of your pool: {RANGES_SAY}"
HIDDEN_BY_POLICY = (
    "The guardian's policy allows only encrypted queries, so parties learn no statistic "
    f"of your pool: {RANGES_SAY}"
)


def find_hidden(site: SiteConfig) -> str:
    """Return why the site's configuration hides the pool from parties; empty if it does not."""
    section = load_section(site.folder, "query", QuerySection)
    return "" if section.tell_pool else HIDDEN_BY_SITE


def kind_of(task: Task) -> Kind:
    """Return the kind of a task's target."""
    if task.target is not None:
        return "number"
    return "labels" if task.multi_label else "classes"


def categories_of(task: Task) -> tuple[Category, ...]:
    """Return the groups of features that encode one category each, including a missing value's feature."""
    if not isinstance(task.input, TableInput):
        return ()
    found = []
    first = 0
    for column in task.input.parts:
        width = len(column.features)
        if isinstance(column, CategoryColumn) and width > 1:
            found.append(Category(first, width))
        first += width
    return tuple(found)


def _prepare(task: Task, encoder: SiteEncoder, data: Dataset) -> OwnRecords:
    """Return labelled records; for multi-label tasks, those whose labels are all known."""
    y: NDArray[Any] = data.labels() if task.target is None else data.numbers()
    records = OwnRecords(encoder.encode(task.prepare(data.X)), y)
    if not task.multi_label:
        return records
    known = (y != UNKNOWN).all(axis=1)
    return replace(records, X=records.X[known], y=y[known])


def _digest(arrays: list[NDArray[Any]] | None) -> str:
    if arrays is None:
        return ""
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(repr((array.shape, array.dtype.str)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
