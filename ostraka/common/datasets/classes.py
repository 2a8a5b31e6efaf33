"""Label columns of text or number turned into class indices."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError


def index_labels(
    values: NDArray[Any], classes: tuple[str, ...] | None, source: str
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Class indices of labels that are class names, shape (N,), and the names they refer to.

    Without `classes` every name that occurs is a class, numbers in numeric order. Integers are indices where
    `classes` are given and are not themselves integers. Raises `data.label_range` naming the first row whose
    label is no class.
    """
    values = _whole(values, source)
    if classes and values.dtype.kind in "biu" and not all(map(_is_integer, classes)):
        require_in_range(values, len(classes), source)
        return values.astype(np.int64), classes
    names = [str(value) for value in values.tolist()]
    known = classes or _sorted_names(set(names))
    position = {name: index for index, name in enumerate(known)}
    found = np.array([position.get(name, -1) for name in names], dtype=np.int64)
    if (found < 0).any():
        row = int(np.argmin(found))
        raise _no_class(repr(names[row]), row, "one of " + ", ".join(known), source)
    return found, known


def require_in_range(y: NDArray[np.integer[Any]], classes: int | None, source: str) -> None:
    """Raise `data.label_range` naming the first of the class indices y (N,) outside 0..classes-1."""
    outside = (y < 0) if classes is None else (y < 0) | (y >= classes)
    if outside.any():
        row = int(np.argmax(outside))
        allowed = "0 or more" if classes is None else f"0 to {classes - 1}"
        raise _no_class(str(y[row]), row, allowed, source)


def _whole(values: NDArray[Any], source: str) -> NDArray[Any]:
    """Labels that a file stores as floats become integers where they are whole."""
    if values.dtype.kind != "f":
        return values
    broken = ~np.isfinite(values) | (values != np.trunc(values))
    if broken.any():
        row = int(np.argmax(broken))
        raise _no_class(str(values[row]), row, "whole numbers or names", source)
    return values.astype(np.int64)


def _is_integer(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def _sorted_names(names: set[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=int) if all(map(_is_integer, names)) else sorted(names))


def _no_class(label: str, row: int, allowed: str, source: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.DATA_LABEL_RANGE,
        f"{source} has label {label} in row {row}, but labels are {allowed}: correct it or drop the row.",
        row=str(row),
    )
