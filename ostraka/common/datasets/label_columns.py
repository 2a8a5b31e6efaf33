"""Label columns: text or number turned into class indices, or 0 and 1 for every label."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin, place
from ostraka.common.errors import ErrorCode, OstrakaError

UNKNOWN = -1
"""Stands for a label that nobody knows whether a record has."""
MISSING = (
    *("", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-nan", "NaT", "null", "Null", "NULL"),
)
"""Text that stands for a missing value, in columns of every kind, unless the task lists it; "none" does not,
as it is an answer as well."""

TRUTH = ("true", "false")
_MEANING = {
    **dict.fromkeys(("true", "yes", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "n", "f", "0"), False),
}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_CANONICAL = re.compile(r"0|-?[1-9]\d*", re.ASCII)
"""A whole number as programs write it: 01 is a word."""
FLOAT = r"^[+-]?\d+([.,]\d+)?$"
WHOLE_AS_FLOAT = r"^([+-]?\d+)(\.0+|,00?)$"
"""A whole number of a column that gaps made one of floats; 1,000 may be another number."""


def default_names(labels: int) -> tuple[str, ...]:
    """Return the names of labels without names: label0, label1, ..."""
    return tuple(f"label{index}" for index in range(labels))


def label_matrix(y: NDArray[Any], names: tuple[str, ...] | None, source: Origin | str) -> NDArray[np.int64]:
    """Labels y (N, k) as int64: 0, 1, or UNKNOWN where one is missing (NaN).

    Raises `data.shape` unless there are as many columns as `names`, and `data.label_range` naming the label
    and the row of the first value that is none of them.
    """
    names = names or default_names(y.shape[1])
    if len(names) != y.shape[1]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has {y.shape[1]} columns of labels for {len(names)} labels: give each label one.",
        )
    columns = [zeros_and_ones(y[:, index], name, source) for index, name in enumerate(names)]
    return np.stack(columns, axis=1)


def zeros_and_ones(values: NDArray[Any], label: str, source: Origin | str) -> NDArray[np.int64]:
    """One label's column (N,) of numbers, truth values or text as int64; errors as in `label_matrix`."""
    number = values.dtype.kind in "biuf"
    column = values if number else values.astype(str)
    if values.dtype.kind == "f":
        column = np.where(np.isnan(values), UNKNOWN, values)
    elif not number:
        column = np.where(np.isin(column, MISSING), str(UNKNOWN), column)
    wrong = ~np.isin(column, (0, 1, UNKNOWN) if number else ("0", "1", str(UNKNOWN)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has {column[row].item()!r} for label '{label}' in {place(source, row)}: give 1"
            " where a record has the label, 0 where it has not, and nothing where nobody knows.",
            label=label,
            row=str(row),
        )
    return column.astype(np.int64)


def with_zeros(
    y: NDArray[Any],
    stored: tuple[str, ...] | None,
    asked: tuple[str, ...] | None,
    ignored: Collection[str],
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Label columns y (N, k) in the order asked, 0 for those `ignored`, which need not be stored.

    As they are stored where nothing is ignored, or where another label is missing.
    """
    names = stored or asked
    if not ignored or asked is None or names is None or len(names) != y.shape[1]:
        return y, stored
    if not set(asked) - set(ignored) <= set(names):
        return y, stored
    nothing = np.zeros(len(y), np.int64)
    columns = [nothing if name in ignored else y[:, names.index(name)] for name in asked]
    return np.stack(columns, axis=1), asked


def in_order(
    y: NDArray[Any], stored: tuple[str, ...] | None, asked: tuple[str, ...] | None
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Label columns y (N, k) in the order asked where the stored names are the same, else as stored."""
    if stored is None or asked is None or len(stored) != y.shape[1] or sorted(stored) != sorted(asked):
        return y, stored or asked
    return y[:, [stored.index(name) for name in asked]], asked


def index_labels(
    values: NDArray[Any], classes: tuple[str, ...] | None, source: Origin | str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class indices of labels that are words, shape (N,), and the names of the classes they refer to.

    A label is the class of that name, whatever its type; without `classes` every name is one, numbers in
    numeric order. Truth values are words, and mean the class that says the same. Only whole numbers are
    indices, and only where no class is a number. Raises `data.label_range` naming the first row whose label
    is no class, and `data.ambiguous` where it may be either of two.
    """
    text = np.where(values, *TRUTH) if values.dtype.kind == "b" else values.astype(str)
    different, position = np.unique(text, return_inverse=True)
    words = _tidy(different.tolist())
    if classes is None:
        classes = _name_classes(words, position, source)
    places = _places(words, classes)
    if places is None:
        _require_one_meaning(words, position, classes, source)
        indices = np.array([int(word) for word in words], dtype=np.int64)[position]
        require_in_range(indices, len(classes), source)
        return indices, classes
    found = np.array(places, dtype=np.int64)[position]
    if (found < 0).any():
        row = int(np.argmin(found))
        raise _no_class(repr(words[position[row]]), row, "one of " + ", ".join(classes), source)
    return found, classes


def _tidy(words: list[str]) -> list[str]:
    """Return a column's different labels, numbers without ".0" and truth values in small letters.

    Gaps make floats of whole numbers, and programs write truth values in three ways; only a column of
    nothing else is changed.
    """
    if all(re.match(FLOAT, word, re.ASCII) for word in words):
        return [re.sub(WHOLE_AS_FLOAT, r"\1", word, flags=re.ASCII) for word in words]
    small = [word.lower() for word in words]
    return small if set(small) <= set(TRUTH) else words


def _name_classes(words: Sequence[str], position: NDArray[np.intp], source: Origin | str) -> tuple[str, ...]:
    """Return the names of the classes that a column's labels are; numbers that are not whole are none."""
    if all(_NUMBER.fullmatch(word) for word in words):
        broken = [index for index, word in enumerate(words) if not _INTEGER.fullmatch(word)]
        if broken:
            row = int(np.argmax(np.isin(position, broken)))
            raise _no_class(words[position[row]], row, "whole numbers or names", source)
    return _sort_names(set(words))


def _places(words: Sequence[str], classes: tuple[str, ...]) -> list[int] | None:
    """Return the class of each different label, -1 for none; None where labels are indices of classes."""
    known = {name: index for index, name in enumerate(classes)}
    if set(words) <= set(TRUTH) and known.keys().isdisjoint(words):
        known = {name.lower(): index for index, name in enumerate(classes)}
    if not known.keys().isdisjoint(words):
        return [known.get(word, -1) for word in words]
    meanings = [_MEANING.get(name.lower()) for name in classes]
    if all(map(_CANONICAL.fullmatch, words)) and not any(map(_NUMBER.fullmatch, classes)):
        return None
    if sorted(map(str, meanings)) == ["False", "True"]:
        meant = [_MEANING.get(word.lower()) for word in words]
        return [-1 if value is None else meanings.index(value) for value in meant]
    return [-1] * len(words)


def _require_one_meaning(
    words: Sequence[str], position: NDArray[np.intp], classes: tuple[str, ...], source: Origin | str
) -> None:
    """Refuse 0 and 1 as indices where the classes' names give them the opposite meaning."""
    yes, no = (
        [index for index, name in enumerate(classes) if _MEANING.get(name.lower()) is value]
        for value in (True, False)
    )
    if len(yes) != 1 or len(no) != 1 or (no, yes) == ([0], [1]) or not set(words) <= {"0", "1"}:
        return
    word = words[position[0]]
    by_meaning = classes[yes[0] if word == "1" else no[0]]
    raise OstrakaError(
        ErrorCode.DATA_AMBIGUOUS,
        f"{source} has label {word} in {place(source, 0)}, which has two readings: '{classes[int(word)]}'"
        f" by its place among the classes, or '{by_meaning}' by its meaning? Write the classes' names.",
        row="0",
    )


def require_in_range(y: NDArray[np.integer[Any]], classes: int | None, source: Origin | str) -> None:
    """Raise `data.label_range` naming the first of the class indices y (N,) outside 0..classes-1."""
    outside = (y < 0) if classes is None else (y < 0) | (y >= classes)
    if outside.any():
        row = int(np.argmax(outside))
        allowed = "0 or more" if classes is None else f"0 to {classes - 1}"
        raise _no_class(str(y[row]), row, allowed, source)


def _sort_names(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=int) if all(map(_CANONICAL.fullmatch, names)) else sorted(names))


def _no_class(label: str, row: int, allowed: str, source: Origin | str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has label {label} in {place(source, row)}, but labels are {allowed}: correct it or drop"
        " the row.",
        row=str(row),
    )
