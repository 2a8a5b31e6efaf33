"""Label columns: text or number turned into class indices, or 0 and 1 for every label."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin, place
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.validation import did_you_mean

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
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
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
    """One label's column (N,) of numbers, truth values or text as int64; errors as in `label_matrix`.

    Text of -1 may say no: only numbers of arrays have UNKNOWN.
    """
    number = values.dtype.kind in "biuf"
    column = values if number else values.astype(str)
    if values.dtype.kind == "f":
        column = np.where(np.isnan(values), UNKNOWN, values)
    wrong = ~np.isin(column, (0, 1, UNKNOWN) if number else ("0", "1", *MISSING))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise OstrakaError(
            ErrorCode.DATA_LABEL_RANGE,
            f"{source} has {column[row].item()!r} for label '{label}' in {place(source, row)}: give 1"
            " where a record has the label, 0 where it has not, and nothing where nobody knows.",
            label=label,
            row=str(row),
        )
    if not number:
        column = np.where(np.isin(column, MISSING), str(UNKNOWN), column)
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
    numeric order. Truth values are words, and mean the class that says the same. Raises `data.label_range`
    naming the first row whose label is no class, and `data.ambiguous` for whole numbers where no class is a
    number: nobody knows whether they count the classes from 0, from 1, or say yes and no.
    """
    text = np.where(values, *TRUTH) if values.dtype.kind == "b" else values.astype(str)
    different, position = np.unique(text, return_inverse=True)
    words = different.tolist()
    if classes is None:
        words = _tidy(words)
        classes = _name_classes(words, position, source)
    _refuse_places(words, position, classes, source)
    found = np.array(_find_classes(words, classes), dtype=np.int64)[position]
    if (found < 0).any():
        row = int(np.argmin(found))
        label = words[position[row]]
        allowed = f"one of {', '.join(classes)}{did_you_mean(label, classes)}"
        raise _no_class(repr(label), row, allowed, source)
    return found, classes


def _tidy(words: list[str]) -> list[str]:
    """Return a column's different labels, numbers without ".0" and truth values in small letters.

    Gaps make floats of whole numbers, and programs write truth values in three ways; only words of nothing
    else are changed.
    """
    if all(re.match(FLOAT, word, re.ASCII) for word in words):
        return [re.sub(WHOLE_AS_FLOAT, r"\1", word, flags=re.ASCII) for word in words]
    small = [word.lower() for word in words]
    return small if set(small) <= set(TRUTH) else words


def _name_classes(words: Sequence[str], position: NDArray[np.intp], source: Origin | str) -> tuple[str, ...]:
    """Return the names of the classes that a column's labels are; numbers that are not whole are none."""
    if all(NUMBER.fullmatch(word) for word in words):
        broken = [index for index, word in enumerate(words) if not _INTEGER.fullmatch(word)]
        if broken:
            row = int(np.argmax(np.isin(position, broken)))
            raise _no_class(words[position[row]], row, "whole numbers or names", source)
    return _sort_names(set(words))


def _find_classes(words: Sequence[str], classes: tuple[str, ...]) -> list[int]:
    """Return the class of each different label, -1 for none: the one of that name, then the one so tidied."""
    known = {name: index for index, name in enumerate(classes)}
    unknown = [word for word in words if word not in known]
    tidy_classes = _tidy(list(classes))
    if len(set(tidy_classes)) == len(classes):
        tidied = {name: index for index, name in enumerate(tidy_classes)}
        known |= {
            word: tidied[tidy] for word, tidy in zip(unknown, _tidy(unknown), strict=True) if tidy in tidied
        }
    if known.keys().isdisjoint(words):
        meanings = _meanings(classes)
        if sorted(map(str, meanings)) == ["False", "True"]:
            known = {word: meanings.index(meant) for word, meant in _MEANING.items()}
            return [known.get(word.lower(), -1) for word in _tidy(list(words))]
    return [known.get(word, -1) for word in words]


def _meanings(classes: tuple[str, ...]) -> list[bool | None]:
    return [_MEANING.get(name.lower()) for name in classes]


def _refuse_places(
    words: Sequence[str], position: NDArray[np.intp], classes: tuple[str, ...], source: Origin | str
) -> None:
    """Refuse whole numbers as labels of classes that are words, but for 0 and 1 of ("no", "yes")."""
    numbers = _tidy(list(words))
    if not all(map(_CANONICAL.fullmatch, numbers)) or any(map(NUMBER.fullmatch, classes)):
        return
    if _meanings(classes) == [False, True]:
        return
    places = np.array([int(number) if len(number) < 9 else -1 for number in numbers])[position]
    inside = (places >= 0) & (places < len(classes))
    if len(classes) < 2 or not inside.any():
        return
    # Only from 1 on are both readings plain.
    positive = inside & (places > 0)
    row = int(np.argmax(positive if positive.any() else inside))
    index = int(places[row])
    raise OstrakaError(
        ErrorCode.DATA_AMBIGUOUS,
        f"{source} has label {index} in {place(source, row)}, which has two readings: '{classes[index]}'"
        f" by its place among the classes from 0 on, or '{classes[index - 1 if index else 1]}' by its meaning"
        " or a place from 1 on? Write the classes' names.",
        row=str(row),
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
