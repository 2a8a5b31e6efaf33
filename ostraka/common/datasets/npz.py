"""Records in NumPy's .npz files: X, optionally y, ids, consent, columns (or feature_names) and classes."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import Dataset, from_arrays
from ostraka.common.datasets.label_columns import NUMBER, UNKNOWN, in_order, index_labels, with_zeros
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.archives import UnpackingError, check_zip
from ostraka.common.files.durable import room_in

IDS = "ids"
"""Name of the array that holds the records' ids."""
Arrays = Mapping[str, NDArray[Any]]
_DAMAGE = (
    *(ValueError, OSError, EOFError, BadZipFile, AttributeError, TypeError),
    *(MemoryError, RecursionError),
)
"""What NumPy raises for files that are not whole, or whose headers claim what is not there."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Every array of an .npz; raises `data.unreadable` for other files and for pickled objects."""
    try:
        with path.open("rb") as file:
            # Before NumPy reads: it unpacks whatever an archive holds.
            check_zip(file)
            with np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
    except UnpackingError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} is not read, {exc}: write it with numpy.savez, which does not compress.",
        ) from exc
    except _DAMAGE as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} is no .npz of plain arrays: write it with numpy.savez, without Python objects.",
        ) from exc


def names(path: Path) -> set[str]:
    """Return the names of the arrays in an .npz; none where it is none."""
    try:
        with ZipFile(path) as stored:
            return {name.removesuffix(".npy") for name in stored.namelist()}
    except (BadZipFile, OSError):
        return set()


def dataset_of(
    arrays: Arrays,
    suffix: str,
    classes: tuple[str, ...] | None,
    source: str,
    *,
    labels: tuple[str, ...] | None = None,
    ignored: Collection[str] = (),
    incomplete: bool = False,
    numeric: bool = False,
) -> Dataset:
    """Return the dataset in arrays X<suffix>, y<suffix> and consent<suffix>; the last two may be missing.

    A y of two axes is multi-label: its columns are the `labels`, as the `classes` are those of a y of one.
    The `ignored` ones of them are 0. Where X may be `incomplete`, NaN stands for a missing value; where y is
    `numeric` it holds a number a record, NaN where it is missing.
    """
    ids = _strings(arrays, f"{IDS}{suffix}")
    columns = _strings(arrays, "columns") or _strings(arrays, "feature_names")
    y = arrays.get(f"y{suffix}")
    names = _strings(arrays, "classes")
    if y is not None and not numeric:
        if y.ndim == 2:
            _refuse_signs(y, source)
            y, names = in_order(*with_zeros(y, names, labels, ignored), labels)
        else:
            y, names = _indices(y, names, classes, source)
    data = from_arrays(
        _require(arrays, f"X{suffix}", source),
        y,
        columns=columns,
        classes=names,
        consent=arrays.get(f"{COLUMN}{suffix}"),
        source=source,
        incomplete=incomplete,
        numeric=numeric,
    )
    return data if ids is None else data.with_ids(ids)


def _refuse_signs(y: NDArray[Any], source: str) -> None:
    """Refuse labels of 1 and -1 alone: in other people's files -1 says no, here that nobody knows."""
    if y.dtype.kind in "if" and (y == UNKNOWN).any() and (y == 1).any() and not (y == 0).any():
        raise OstrakaError(
            ErrorCode.DATA_AMBIGUOUS,
            f"{source} has labels 1 and {UNKNOWN} and none of 0, and {UNKNOWN} has two readings: no, or"
            " nobody knows? Write 0 for no, and NaN where nobody knows.",
        )


def write(dataset: Dataset, path: Path) -> None:
    """Write X in its records' own shape, columns, and y, classes and consent where there are any."""
    arrays: dict[str, Any] = {"columns": np.array(dataset.columns)}
    arrays["X"] = dataset.X.reshape(len(dataset), *(dataset.shape or (-1,)))
    if dataset.y is not None:
        # NaN says that nobody knows; in other people's files -1 may say no.
        unknown = dataset.y.ndim == 2 and (dataset.y == UNKNOWN).any()
        arrays["y"] = np.where(dataset.y == UNKNOWN, np.nan, dataset.y) if unknown else dataset.y
    if dataset.classes is not None:
        arrays["classes"] = np.array(dataset.classes)
    if dataset.consent is not None:
        arrays[COLUMN] = np.array(dataset.consent)
    if dataset.ids is not None:
        arrays[IDS] = np.array(dataset.ids)
    with room_in(path.parent), path.open("wb") as file:
        np.savez(file, **arrays)


def _indices(
    y: NDArray[Any], stored: tuple[str, ...] | None, classes: tuple[str, ...] | None, source: str
) -> tuple[NDArray[Any], tuple[str, ...] | None]:
    """Return class indices and names: integers are indices into the classes that the file stores, else into
    those asked for, unless one of these is a number."""
    if y.ndim != 1 or y.dtype.kind in "cOV":
        return y, classes
    if y.dtype.kind in "USb":
        return index_labels(y, stored or classes, source)
    if stored and classes and stored != classes and y.dtype.kind in "iu":
        checked = from_arrays(np.zeros((len(y), 1)), y, classes=stored, source=source).labels()
        return index_labels(np.array(stored)[checked], classes, source)
    if not stored and classes and y.dtype.kind in "iu" and any(map(NUMBER.fullmatch, classes)):
        return index_labels(y, classes, source)
    return y, stored or classes


def _require(arrays: Arrays, name: str, source: str) -> NDArray[Any]:
    if name in arrays:
        return arrays[name]
    raise OstrakaError(
        ErrorCode.DATA_MISSING,
        f"{source} has no array {name}, only {', '.join(sorted(arrays)) or 'none'}: add it.",
    )


def _strings(arrays: Arrays, name: str) -> tuple[str, ...] | None:
    return tuple(str(value) for value in arrays[name].ravel().tolist()) if name in arrays else None
