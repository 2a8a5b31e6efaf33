"""Label columns: conversion of text or numbers to class indices, or to 0 and 1 for every label."""

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.reading import Origin, place
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.validation import did_you_mean

UNKNOWN = -1
"""Marks a label whose value is unknown for a record."""
MISSING = (
    *("", "NA", "na", "N/A", "n/a", "#N/A", "#NA", "<NA>"),
    *("NaN", "nan", "-nan", "NaT", "null", "Null", "NULL"),
)
"""Text that means a missing value in columns of every kind, unless the task lists it as a value.

"none" is not here, because it can be an answer as well.
"""

TRUTH = ("true", "false")
_MEANING = {
    **dict.fromkeys(("true", "yes", "y", "t", "1"), True),
    **dict.fromkeys(("false", "no", "n", "f", "0"), False),
}
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)", re.ASCII)
_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_CANONICAL = re.compile(r"0|-?[1-9]\d*", re.ASCII)
"""A whole number as programs write it; 01 is a word."""
FLOAT = r"^[+-]?\d+([.,]\d+)?$"
WHOLE_AS_FLOAT = r"^([+-]?\d+)(\.0+|,00?)$"
"""A whole number in a column that missing values turned into floats; 1,000 may be another number."""
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.000", re.ASCII)
"""A whole number with decimals, or another one with a separator of thousands."""


def find_thousands(known: Collection[str]) -> dict[str, str]:
    """Return both readings of texts that are a known number with decimals, or another in thousands.

    1.000 is "1 or 1000" if both are known.
    """
    small = (name for name in known if re.fullmatch(r"[1-9]\d{0,2}", name, re.ASCII))
    both = ((name, str(1000 * int(name))) for name in small)
    return {
        f"{least}.000": f"{least} or {most}"
        for least, most in both
        if most in known and f"{least}.000" not in known
    }


def default_names(labels: int) -> tuple[str, ...]:
    """Return default names for labels without names: label0, label1, ..."""
    return tuple(f"label{index}" for index in range(labels))


def label_matrix(y: NDArray[Any], names: tuple[str, ...] | None, source: Origin | str) -> NDArray[np.int64]:
    """Return labels y (N, k) as int64: 0, 1, or UNKNOWN for a missing value (NaN).

    Raises `data.shape` unless the number of columns equals the number of `names`, and `data.label_range`
    naming the label and the row of the first other value.
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
    """Return one label's column (N,) of numbers, truth values or text as int64; errors as in `label_matrix`.

    The text -1 is refused, because it may mean no; only numeric arrays may contain UNKNOWN.
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
            " if the record has the label and 0 if it does not, or leave it empty if nobody knows.",
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
    """Return label columns y (N, k) in the order of `asked`, with 0 for those in `ignored`.

    An ignored label needs no stored column. Nothing changes if no label is ignored, or if another label is
    missing.
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
    """Return label columns y (N, k) in the order of `asked` if the names are the same set, else as stored."""
    if stored is None or asked is None or len(stored) != y.shape[1] or sorted(stored) != sorted(asked):
        return y, stored or asked
    return y[:, [stored.index(name) for name in asked]], asked


def index_labels(
    values: NDArray[Any], classes: tuple[str, ...] | None, source: Origin | str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Return class indices (N,) of labels that are words, and the names of their classes.

    A label belongs to the class of that name, whatever the label's type. Without `classes` every distinct
    label is a class, and numbers are sorted numerically. Truth values are words, and match a class with the
    same meaning. Raises `data.label_range` naming the first row whose label is not a class. Raises
    `data.ambiguous` for whole numbers if no class is a number: they may count the classes from 0 or from 1,
    or mean yes and no.
    """
    text = np.where(values, *TRUTH) if values.dtype.kind == "b" else values.astype(str)
    different, position = np.unique(text, return_inverse=True)
    words = different.tolist()
    if classes is None:
        words = _tidy(words)
        classes = _name_classes(words, position, source)
    _refuse_places(words, position, classes, source)
    _refuse_thousands(words, position, classes, source)
    found = np.array(_find_classes(words, classes), dtype=np.int64)[position]
    if (found < 0).any():
        row = int(np.argmin(found))
        label = words[position[row]]
        allowed = f"one of {', '.join(classes)}{did_you_mean(label, classes)}"
        raise _no_class(repr(label), row, allowed, source)
    return found, classes


def _tidy(words: list[str]) -> list[str]:
    """Return a column's distinct labels, numbers without ".0" and truth values in lower case.

    Missing values turn whole numbers into floats, and programs write truth values in three ways. Columns that
    contain other words as well stay unchanged, and so does 1.000 beside whole numbers: it may be 1000.
    """
    if all(re.match(FLOAT, word, re.ASCII) for word in words):
        beside = any(map(_INTEGER.fullmatch, words))
        return [
            word
            if beside and _THOUSANDS.fullmatch(word)
            else re.sub(WHOLE_AS_FLOAT, r"\1", word, flags=re.ASCII)
            for word in words
        ]
    small = [word.lower() for word in words]
    return small if set(small) <= set(TRUTH) else words


def _name_classes(words: Sequence[str], position: NDArray[np.intp], source: Origin | str) -> tuple[str, ...]:
    """Return the class names for a column's labels; raise `data.label_range` for a fraction."""
    if all(NUMBER.fullmatch(word) for word in words):
        broken = [index for index, word in enumerate(words) if not _INTEGER.fullmatch(word)]
        if broken:
            row = int(np.argmax(np.isin(position, broken)))
            raise _no_class(words[position[row]], row, "whole numbers or names", source)
    return _sort_names(set(words))


def _find_classes(words: Sequence[str], classes: tuple[str, ...]) -> list[int]:
    """Return the class index of each distinct label, or -1: an exact match first, then one after tidying."""
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
    """Refuse whole numbers as labels if the classes are words, except 0 and 1 for ("no", "yes")."""
    numbers = _tidy(list(words))
    if not all(map(_CANONICAL.fullmatch, numbers)) or any(map(NUMBER.fullmatch, classes)):
        return
    if _meanings(classes) == [False, True]:
        return
    places = np.array([int(number) if len(number) < 9 else -1 for number in numbers])[position]
    inside = (places >= 0) & (places < len(classes))
    if len(classes) < 2 or not inside.any():
        return
    # A label of 1 or more shows both readings clearly.
    positive = inside & (places > 0)
    row = int(np.argmax(positive if positive.any() else inside))
    index = int(places[row])
    raise OstrakaError(
        ErrorCode.DATA_AMBIGUOUS,
        f"{source} has label {index} in {place(source, row)}, which has two readings: '{classes[index]}'"
        f" if classes are counted from 0, or '{classes[index - 1 if index else 1]}' by its meaning or if they"
        " are counted from 1? Write the classes' names.",
        row=str(row),
    )


def _refuse_thousands(
    words: Sequence[str], position: NDArray[np.intp], classes: tuple[str, ...], source: Origin | str
) -> None:
    """Refuse a label that is a class with decimals, and another class with a separator of thousands."""
    known = find_thousands(classes)
    both = [index for index, word in enumerate(words) if word in known]
    if not both:
        return
    row = int(np.argmax(np.isin(position, both)))
    label = words[position[row]]
    raise OstrakaError(
        ErrorCode.DATA_AMBIGUOUS,
        f"{source} has label {label!r} in {place(source, row)}, which has two readings: {known[label]}?"
        " Write it as its class is written.",
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
