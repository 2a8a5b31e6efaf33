"""What a person should look at in records that fit their task: columns that say nothing, or too much."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.datasets import Dataset
from ostraka.common.datasets.word_columns import find_alike
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.persons import Persons
from ostraka.common.task.task import Task

MAX_LOOKED_AT = 20_000
"""Records that columns are held against the label in, evenly chosen: more tell nothing new, and take time."""
MIN_LOOKED_AT = 40
"""Records below which a column may agree with the label by chance."""
MAX_PARTS = 100
"""Parts of equal size that a column's values are put into: fine enough for rare classes."""
RECORDS_A_PART = 10
"""At least, so that no part agrees with the label by chance."""
TELLING = 0.95
"""Share of the records outside the most frequent class that a column tells, from which on it is named."""


@dataclass(frozen=True)
class Findings:
    """Columns of records that fit.

    Attributes:
        constant: those with one value only.
        telling: those from which alone the label can nearly be read, with the label where there are several:
            they may have been written after it, and are not there when records are asked about.
        persons: whose the records are, or by which ids they belong together, where the task has one.
        alike: ids that differ in how they are written alone: who has two of them counts as two.
    """

    constant: tuple[str, ...]
    telling: tuple[str, ...]
    persons: Persons | None
    alike: tuple[str, ...] = ()

    @classmethod
    def of(cls, task: Task, data: Dataset) -> "Findings":
        """Look at records of a task; raises `data.missing` for records that are nobody's."""
        persons = Persons.of(task, data)
        alike = () if persons is None else tuple(find_alike(dict.fromkeys(data.ids or ())))
        if isinstance(task.input, TensorInput):
            return cls(tuple(_constant_labels(task, data)), (), persons, alike)
        same = _are_constant(data.X)
        # Of a column of text most features count words that are not there.
        columns = zip(data.columns, same, strict=True)
        constant = tuple(name for name, is_same in columns if is_same and name in task.input.sources)
        constant += tuple(_constant_labels(task, data))
        return cls(constant, tuple(_telling(task, data, same)), persons, alike)

    def sentences(self) -> Iterator[str]:
        """Yield a sentence for each kind of finding."""
        if self.persons is not None:
            yield f"They are of {self.persons}."
        if self.alike:
            ids = list_words(self.alike, "; ")
            yield f"Ids that look alike, and count as several: {ids}. Write them in one way if they are one."
        if self.constant:
            yield f"One value only, which says nothing: {list_words(self.constant)}."
        if self.telling:
            yield (
                f"Nearly the label: {list_words(self.telling)}. Take out what is written after it, and is not"
                " known of records that are asked about."
            )

    def summary(self) -> dict[str, Any]:
        """Return the same as values for JSON."""
        return {
            "persons": len(self.persons) if self.persons and self.persons.stated else None,
            "most_records_of_a_person": (self.persons.most if self.persons and self.persons.stated else None),
            "constant": list(self.constant),
            "telling": list(self.telling),
        }


def _constant_labels(task: Task, data: Dataset) -> Iterator[str]:
    """Yield the label, or labels, that are the same in all records: nothing can be learned of them."""
    if data.y is None:
        return
    names = task.classes if data.y.ndim > 1 else (task.label,)
    columns = data.y.reshape(len(data), len(names)).T
    yield from (
        f"{name} (the label)" for name, held in zip(names, columns, strict=True) if (held == held[0]).all()
    )


def _are_constant(X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which columns of X (N, C) have one value in all records, (C,); a gap is another one."""
    first = X[0]
    same: NDArray[np.bool_] = ((first == X) | (np.isnan(X) & np.isnan(first))).all(axis=0)
    return same


def _telling(task: Task, data: Dataset, constant: NDArray[np.bool_]) -> Iterator[str]:
    if data.y is None or not isinstance(task.input, TableInput) or len(data) < MIN_LOOKED_AT:
        return
    rows = np.linspace(0, len(data) - 1, min(len(data), MAX_LOOKED_AT)).astype(np.int64)
    names, said = _answers(task, data.y[rows])
    for column in np.flatnonzero(~constant):
        parts = _parts(data.X[rows, column])
        for name, label in zip(names, said, strict=True):
            if _gain(parts, label) >= TELLING:
                yield data.columns[column] + (f" (of {name})" if name else "")


def _answers(
    task: Task, y: NDArray[np.int64 | np.float64]
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Return names of what is learned, and each's value by record, from 0: numbers by their part."""
    if task.target is not None:
        return ("",), [_parts(y)]
    if not task.multi_label:
        return ("",), [y.astype(np.int64)]
    return task.classes, [np.maximum(y[:, label], 0).astype(np.int64) for label in range(y.shape[1])]


def _parts(values: NDArray[np.number[Any]]) -> NDArray[np.int64]:
    """Put values (N,) into parts, numbered from 0: one for each of few values, else of equal size."""
    known, found = np.unique(values, return_inverse=True)
    place: NDArray[np.int64] = found.astype(np.int64)
    parts = min(MAX_PARTS, len(values) // RECORDS_A_PART)
    if len(known) <= parts:
        return place
    ends = np.quantile(place, np.linspace(0, 1, parts + 1)[1:-1], method="nearest")
    return np.searchsorted(ends, place, side="right").astype(np.int64)


def _gain(parts: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the share of records outside the most frequent class that the parts tell."""
    classes = int(label.max()) + 1
    counts = np.bincount(parts * classes + label, minlength=(int(parts.max()) + 1) * classes)
    by_part = counts.reshape(-1, classes)
    most = by_part.sum(axis=0).max()
    rest = len(label) - most
    return float((by_part.max(axis=1).sum() - most) / rest) if rest else 0.0
