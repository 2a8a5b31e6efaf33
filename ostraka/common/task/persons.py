"""Which records belong together, by the id that a task names: a person's id, if the task says so."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError

if TYPE_CHECKING:
    from ostraka.common.task.task import Task


@dataclass(frozen=True)
class Persons:
    """Persons and their records, or whatever else the ids of a task identify.

    Attributes:
        id: the name of the id column.
        stated: whether the task says that the ids are persons.
        of_record: the person of each record, int64 (N,), numbered from 0 in the order of their first records.
        records: the number of records of each person, int64 (P,).
    """

    id: str
    stated: bool
    of_record: NDArray[np.int64] = field(repr=False)
    records: NDArray[np.int64] = field(repr=False)

    @classmethod
    def of(cls, task: Task, data: Dataset) -> Self | None:
        """Return the persons, or other ids, of records; None if the task names no id.

        Raises `data.missing` for records without ids, or for a single record without one: it may be
        anybody's.
        """
        if task.id is None:
            return None
        ids = np.array(data.ids or (), str)
        if len(ids) < len(data):
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                f"The records have no ids, and the task's id is '{task.id}': give an array ids beside X.",
            )
        without = int((ids == "").sum())
        if without:
            raise OstrakaError(
                ErrorCode.DATA_MISSING,
                f"{without} of {len(ids)} records have no '{task.id}', so nobody knows whose they are: give"
                " them ids, or take them out.",
                column=task.id,
            )
        _, first, of_record = np.unique(ids, return_index=True, return_inverse=True)
        # In the order of ids, one more person would move everybody after it to another teacher.
        of_record = np.argsort(np.argsort(first))[of_record]
        return cls(task.id, task.persons, of_record.astype(np.int64), np.bincount(of_record))

    def __len__(self) -> int:
        return len(self.records)

    @property
    def most(self) -> int:
        """The largest number of records of one person."""
        return int(self.records.max())

    def count_within(self, most: int) -> int:
        """Return the number of records that count if each person has at most `most`."""
        return int(np.minimum(self.records, most).sum())

    def choose(self, most: int, ids: Sequence[str]) -> NDArray[np.bool_]:
        """Return which records count (N,) if each person has at most `most`; `ids` are the records' ids.

        The choice depends only on a person's own id and number of records: if another person takes somebody's
        place, nobody else's chosen records change. It does not depend on labels, by which a file may be
        sorted.
        """
        chosen = np.ones(len(self.of_record), np.bool_)
        crowded = np.flatnonzero(self.records[self.of_record] > most)
        by_person = crowded[np.argsort(self.of_record[crowded], kind="stable")]
        first = np.flatnonzero(np.diff(self.of_record[by_person], prepend=-1))
        for own in np.split(by_person, first[1:]) if len(by_person) else ():
            name = ids[own[0]].encode()
            order = sorted(range(len(own)), key=lambda one: hashlib.sha256(b"%d %s" % (one, name)).digest())
            chosen[own[order[most:]]] = False
        return chosen

    def __str__(self) -> str:
        """Return a summary such as "400 persons by 'pid', at most 7 records each"."""
        at_most = f"at most {self.most} records each" if self.most > 1 else "one record each"
        return f"{len(self)} {'persons' if self.stated else 'ids'} by '{self.id}', {at_most}"
