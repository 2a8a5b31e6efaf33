"""Checks of a site's records against the task: column order, classes, ranges."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.console.texts import list_words
from ostraka.common.datasets import Dataset
from ostraka.common.datasets.dataset import require_finite
from ostraka.common.datasets.label_columns import label_matrix, require_in_range
from ostraka.common.datasets.reading import Origin, Reading, place
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.sentinels import note_missing, note_unit
from ostraka.common.task.target import NumberTarget
from ostraka.common.validation import did_you_mean


def check_columns(expected: TableInput | TensorInput, dataset: Dataset) -> None:
    """Raise `task.mismatch` naming the columns, or the shape, in which records and task differ."""
    if isinstance(expected, TensorInput):
        _check_shape(expected, dataset)
    elif dataset.columns != expected.names:
        raise column_mismatch(expected.names, dataset.columns)


def check_labels(classes: tuple[str, ...], multi_label: bool, dataset: Dataset) -> None:
    """Raise `task.mismatch` for labels of another kind or with other names.

    Raises `data.shape` for a different number of labels, and `data.label_range` for a class index beyond the
    classes or a label that is neither 0 nor 1.
    """
    _check_kind(multi_label, dataset)
    _check_names(classes, dataset)
    if dataset.y is None:
        return
    if multi_label:
        label_matrix(dataset.y, classes, "The data")
    else:
        require_in_range(dataset.labels(), len(classes), "The data")


def clip_target(target: NumberTarget, label: str, dataset: Dataset) -> Dataset:
    """Return the records; if the target clips, numbers beyond its range become the nearest end of it.

    The count of clipped numbers is noted in `reading`, and so are numbers that seem to mean a missing one, or
    to be in another unit. Whole numbers in arrays without classes count as numbers.
    """
    if dataset.y is None or dataset.y.ndim > 1 or dataset.classes is not None:
        return dataset
    y = dataset.numbers()
    clipped = np.clip(y, target.min, target.max) if target.clip else y
    beyond = int((np.isfinite(y) & (clipped != y)).sum())
    clips = f"values beyond its range that count as its end: {beyond} of {len(y)}" if beyond else ""
    told = "; ".join(filter(None, (clips, note_missing(y), note_unit(y, target))))
    reading = (dataset.reading or Reading()).note({label: told}) if told else dataset.reading
    return replace(dataset, y=clipped, reading=reading)


def check_target(
    target: NumberTarget, label: str, dataset: Dataset, source: Origin | str = "The data"
) -> None:
    """Raise `task.mismatch` for classes instead of numbers, or for the first number outside the range.

    A missing number (NaN) passes.
    """
    if dataset.y is None:
        return
    if dataset.y.ndim > 1 or dataset.classes is not None or not dataset.numeric:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"The task takes a number in '{label}' but the data have classes: give numbers, or agree on"
            " a new task.",
        )
    # Compared as float32, like features: a stored float32 0.1 is slightly more than 0.1.
    with np.errstate(over="ignore"):
        y = dataset.y.astype(np.float32)
    outside = (y < np.float32(target.min)) | (y > np.float32(target.max))
    if outside.any():
        row = int(np.argmax(outside))
        raise _value_mismatch(
            label, row, source, f"{dataset.y[row]:g}", f"the task's range is {target.words()}"
        )


def require_labels(labels: tuple[str, ...], dataset: Dataset, source: object) -> None:
    """Raise `data.missing` for records without labels, naming the label columns and any file."""
    if dataset.y is not None:
        return
    name = source if isinstance(source, Path | str) else "The table"
    columns = list_words([f"'{label}'" for label in labels])
    raise OstrakaError(
        ErrorCode.DATA_MISSING,
        f"{name} has no labels: add {columns}, or an array y if it is an .npz file.",
    )


def _check_kind(multi_label: bool, dataset: Dataset) -> None:
    if dataset.numeric:
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            "The task takes classes but the data have a number per record: give classes, or agree on a new"
            " task.",
        )
    if dataset.y is None or dataset.multi_label == multi_label:
        return
    kinds = ("one class per record", "a 0 or 1 for every label")
    task, data = reversed(kinds) if multi_label else kinds
    raise OstrakaError(
        ErrorCode.TASK_MISMATCH,
        f"The task takes {task} but the data have {data}: give other labels, or agree on a new task.",
    )


def _check_names(classes: tuple[str, ...], dataset: Dataset) -> None:
    for index, (ours, named) in enumerate(zip_longest(dataset.classes or classes, classes)):
        if ours != named:
            raise OstrakaError(
                ErrorCode.TASK_MISMATCH,
                f"Class {index} is {_quote(named)} in the task but {_quote(ours)} in the data: "
                "give the data the task's classes, in its order.",
                **{"class": str(index)},
            )


def check_values(
    expected: TableInput | TensorInput, dataset: Dataset, source: Origin | str = "The data"
) -> None:
    """Raise `data.nan`, or `task.mismatch` naming each column with a wrong value and its first such row."""
    require_finite(dataset.X, dataset.columns, source, incomplete=expected.takes_missing())
    beyond = find_beyond(expected, dataset.X, source)
    if beyond:
        (column, row), *_ = beyond
        told = list_words(
            [f"column '{dataset.columns[at]}' {what}" for (at, _), what in beyond.items()], "; "
        )
        raise OstrakaError(
            ErrorCode.TASK_MISMATCH,
            f"{told[0].upper()}{told[1:]}: correct the data, or agree on a new task.",
            column=dataset.columns[column],
            row=str(row),
        )
    broken = expected.whole() & (np.trunc(dataset.X) != dataset.X) & ~np.isnan(dataset.X)
    if broken.any():
        row, column = _first(broken)
        found = f"{dataset.X[row, column]:g}"
        raise _value_mismatch(dataset.columns[column], row, source, found, "the task takes whole numbers")


def find_beyond(
    expected: TableInput | TensorInput, X: NDArray[np.float32], source: Origin | str
) -> dict[tuple[int, int], str]:
    """Return the codes in X (N, C) beyond their range: a phrase by column and the first such row."""
    low, high = (bound.astype(np.float32) for bound in expected.bounds())
    outside = (low > X) | (high < X)
    found = {}
    for column in np.flatnonzero(outside.any(axis=0)).tolist():
        row = int(np.argmax(outside[:, column]))
        value, least, most = (
            expected.text_of(column, float(code)) for code in (X[row, column], low[column], high[column])
        )
        found[column, row] = f"has {value} in {place(source, row)} but the task's range is {least} to {most}"
    return found


def _check_shape(expected: TensorInput, dataset: Dataset) -> None:
    """Check the shape; flat records pass if the number of values is right."""
    flat = dataset.shape is None and len(dataset.columns) == len(expected.names)
    if dataset.shape == expected.shape or flat:
        return
    shape = dataset.shape or (len(dataset.columns),)
    raise OstrakaError(
        ErrorCode.TASK_MISMATCH,
        f"The task takes records of shape {_by(expected.shape)} but these are {_by(shape)}: reshape them.",
    )


def column_mismatch(
    expected: tuple[str, ...],
    found: tuple[str, ...],
    absent: Sequence[str] = (),
    *,
    source: Origin | None = None,
) -> OstrakaError:
    """Return the refusal of columns that differ from the task's: it names all missing or else all extra ones.

    `absent` lists the label and id columns that the table lacks; an extra column may be a misspelling of one.
    """
    known = set(expected)
    given = set(found)
    missing = [name for name in expected if name not in given]
    extra = [name for name in found if name not in known]
    if missing:
        first = missing[0]
        meant = did_you_mean(first, extra)
        what = f"lack columns of the task: add the missing {_list(missing)}{meant}"
        what += f"; they have the {_list(extra)} instead" if extra and not meant else ""
    elif extra:
        first = extra[0]
        what = f"have columns that the task neither has nor ignores: drop the {_list(extra)}"
        what += did_you_mean(first, absent)
    else:
        first = next(ours or "" for ours, named in zip_longest(found, expected) if ours != named)
        what = f"have their columns, from '{first}' on, in another order: put the columns in the task's order"
    of = "" if source is None else f" of {source}"
    return OstrakaError(ErrorCode.TASK_MISMATCH, f"The data{of} {what}.", column=first)


def _list(columns: Sequence[str]) -> str:
    return f"column{'s' * (len(columns) > 1)} {list_words(list(map(_quote, columns)))}"


def _value_mismatch(name: str, row: int, source: Origin | str, found: str, expected: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.TASK_MISMATCH,
        f"Column '{name}' has {found} in {place(source, row)} but {expected}: correct the data, or agree"
        " on a new task.",
        column=name,
        row=str(row),
    )


def _first(wrong: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> tuple[int, int]:
    row, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
    return int(row), int(column)


def _quote(name: str | None) -> str:
    return "absent" if name is None else f"'{name}'"


def _by(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))
