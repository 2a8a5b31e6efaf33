"""What a person should check in records that fit their task: columns that reveal nothing, or too much."""

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
"""Maximum number of records, evenly spaced, used to compare columns with the label; more take only time."""
MIN_LOOKED_AT = 40
"""Number of records below which a column may agree with the label by chance."""
MAX_PARTS = 100
"""Maximum number of equal parts into which a column's values are put: fine enough for rare classes."""
RECORDS_A_PART = 10
"""Minimum number of records per part, so that a part does not agree with the label by chance."""
TELLING = 0.95
"""Share of the records outside the most frequent class from which on a predictive column is named."""


@dataclass(frozen=True)
class Findings:
    """Findings about records that fit their task.

    Attributes:
        constant: columns with only one value.
        telling: columns that alone nearly determine the label, with its name if there are several. They
            may have been recorded after the label, and be unknown in records that need an answer.
        persons: the persons, or other ids, that the records belong to, if the task names an id.
        alike: ids that differ only in their spelling; a person with two of them counts as two.
    """

    constant: tuple[str, ...]
    telling: tuple[str, ...]
    persons: Persons | None
    alike: tuple[str, ...] = ()

    @classmethod
    def of(cls, task: Task, data: Dataset) -> "Findings":
        """Examine records of a task; raise `data.missing` for records without an id."""
        persons = Persons.of(task, data)
        alike = () if persons is None else tuple(find_alike(dict.fromkeys(data.ids or ())))
        if isinstance(task.input, TensorInput):
            return cls(tuple(_constant_labels(task, data)), (), persons, alike)
        same = _are_constant(data.X)
        # Most features of a text column are constant, because they count words that do not occur.
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
        """Return the findings as values for JSON."""
        return {
            "persons": len(self.persons) if self.persons and self.persons.stated else None,
            "most_records_of_a_person": (self.persons.most if self.persons and self.persons.stated else None),
            "constant": list(self.constant),
            "telling": list(self.telling),
        }


def _constant_labels(task: Task, data: Dataset) -> Iterator[str]:
    """Yield the label, or labels, with the same value in all records: nothing can be learned about them."""
    if data.y is None:
        return
    names = task.classes if data.y.ndim > 1 else (task.label,)
    columns = data.y.reshape(len(data), len(names)).T
    yield from (
        f"{name} (the label)" for name, held in zip(names, columns, strict=True) if (held == held[0]).all()
    )


def _are_constant(X: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Return which columns of X (N, C) have one value in all records, (C,); NaN counts as a value."""
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
    """Return the names of what is learned and the value of each by record, from 0; numbers by their part."""
    if task.target is not None:
        return ("",), [_parts(y)]
    if not task.multi_label:
        return ("",), [y.astype(np.int64)]
    return task.classes, [np.maximum(y[:, label], 0).astype(np.int64) for label in range(y.shape[1])]


def _parts(values: NDArray[np.number[Any]]) -> NDArray[np.int64]:
    """Put values (N,) into parts, numbered from 0: one part per value if they are few, else of equal size."""
    known, found = np.unique(values, return_inverse=True)
    place: NDArray[np.int64] = found.astype(np.int64)
    parts = min(MAX_PARTS, len(values) // RECORDS_A_PART)
    if len(known) <= parts:
        return place
    ends = np.quantile(place, np.linspace(0, 1, parts + 1)[1:-1], method="nearest")
    return np.searchsorted(ends, place, side="right").astype(np.int64)


def _gain(parts: NDArray[np.int64], label: NDArray[np.int64]) -> float:
    """Return the share of records outside the most frequent class whose class the parts determine."""
    classes = int(label.max()) + 1
    counts = np.bincount(parts * classes + label, minlength=(int(parts.max()) + 1) * classes)
    by_part = counts.reshape(-1, classes)
    most = by_part.sum(axis=0).max()
    rest = len(label) - most
    return float((by_part.max(axis=1).sum() - most) / rest) if rest else 0.0
