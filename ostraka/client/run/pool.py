"""The queries of a pool: records with equal features are one query, which is paid for once."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run.labels import PoolIds
from ostraka.client.run.options import PlanOptions
from ostraka.client.session.run_state import STATE_FILE, load_state
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism
from ostraka.common.task import Source, Task

Features = NDArray[np.float32]


@dataclass(frozen=True)
class AskedPool:
    """Records to label, and the query that represents each of them.

    All records with equal features get the query's answer: post-processing of a released label is free.

    Attributes:
        features: prepared features of the records, float32 (N, F).
        ids: identifiers of the records.
        copies: the query of each record, in the order of their first records; empty if no record repeats
            another, or each is asked separately.
        read_as: as `Dataset.read_as`.
    """

    features: Features = field(repr=False)
    ids: PoolIds
    copies: tuple[int, ...] = field(repr=False)
    read_as: tuple[str, ...] = ()

    @classmethod
    def load(
        cls, task: Task, source: Source, mechanism: Mechanism | None = None, run: Path | None = None
    ) -> Self:
        """Return the records of a pool, and the queries that the run in the folder `run`, if any, asks.

        If a mechanism is answered by labelled records, each record is a query, because answers for equal
        records differ. Raises as `Task.pool`, and `data.missing` or `data.shape` if ids are missing or
        repeated.
        """
        records = task.pool(source)
        require_ids(task, records)
        features = task.prepare(records.X)
        ids = PoolIds.of(task, records)
        if run is not None and (run / STATE_FILE).exists():
            state = load_state(run)
            # A run of an earlier version asked about every record, and is resumed like that. A run of another
            # pool is refused when it is opened.
            if state.pool_sha256 == pool_digest(features):
                return cls(features, ids, state.copies, records.read_as)
        by_record = mechanism is not None and mechanism.by_record
        return cls(features, ids, () if by_record else find_copies(features), records.read_as)

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self._first)

    @property
    def repeated(self) -> int:
        """How many records repeat another one."""
        return len(self.features) - len(self)

    @property
    def queries(self) -> Features:
        """The features of the queries, (len, F)."""
        return self.features[self._first] if self.copies else self.features

    def count_queries(self, options: PlanOptions) -> PlanOptions:
        """Convert `queries` in the options from a number of records, from the first, to a number of
        queries."""
        if options.queries is None or not self.copies or not 0 < options.queries <= len(self.copies):
            return options
        return options.model_copy(update={"queries": max(self.copies[: options.queries]) + 1})

    @cached_property
    def _first(self) -> NDArray[np.int64]:
        """The first record of each query."""
        return first_records(self.copies, len(self.features))


def pool_digest(features: Features) -> str:
    """Return the SHA-256, in hex, of a pool's prepared features in their order."""
    return hashlib.sha256(features.tobytes()).hexdigest()


def find_copies(features: Features) -> tuple[int, ...]:
    """Return the query of each record (N, F), in the order of first records; empty if all differ."""
    known: dict[bytes, int] = {}
    # Adding 0 turns -0.0 into 0.0: no model distinguishes them.
    copies = tuple(known.setdefault((record + np.float32(0)).tobytes(), len(known)) for record in features)
    return copies if len(known) < len(copies) else ()


def first_records(copies: Sequence[int], records: int) -> NDArray[np.int64]:
    """Return the first record of each query, for `copies` from `find_copies`."""
    if not copies:
        return np.arange(records)
    return np.unique(np.array(copies), return_index=True)[1].astype(np.int64)


def require_ids(task: Task, records: Dataset) -> None:
    """Raise `data.missing` or `data.shape` unless every record of a pool has an id of its own."""
    if task.id is None or records.ids is None:
        return
    missing = records.ids.count("")
    if missing:
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"{missing} of {len(records)} records have no '{task.id}', by which labels.csv names records: "
            "give each record one.",
            column=task.id,
        )
    repeated = _first_repeated(records.ids)
    if repeated is not None:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{len(records.ids) - len(set(records.ids))} of {len(records)} records repeat the '{task.id}' "
            f"of another record, such as '{repeated}', but labels.csv names records by it: give each "
            "record its own.",
            column=task.id,
        )


def _first_repeated(ids: Sequence[str]) -> str | None:
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            return one
        seen.add(one)
    return None
