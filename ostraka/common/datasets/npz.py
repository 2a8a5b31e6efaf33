"""Records in NumPy's .npz files: X; optionally y, ids, consent, columns (or feature_names) and classes."""

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
"""Name of the array that contains the records' ids."""
Arrays = Mapping[str, NDArray[Any]]
_DAMAGE = (
    *(ValueError, OSError, EOFError, BadZipFile, AttributeError, TypeError),
    *(MemoryError, RecursionError),
)
"""What NumPy raises for incomplete files, and for headers that claim data that does not exist."""


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Return every array of an .npz; raise `data.unreadable` for other files and for pickled objects."""
    try:
        with path.open("rb") as file:
            # Check before NumPy reads: NumPy unpacks whatever an archive contains.
            check_zip(file)
            with np.load(file, allow_pickle=False) as stored:
                return {name: stored[name] for name in stored.files}
    except UnpackingError as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} is not read because {exc}: write it with numpy.savez, which does not compress.",
        ) from exc
    except _DAMAGE as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{path} is not an .npz of plain arrays: write it with numpy.savez, without Python objects.",
        ) from exc


def names(path: Path) -> set[str]:
    """Return the names of the arrays in an .npz; an empty set if the file is not an .npz."""
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
    """Build a dataset from the arrays X<suffix>, y<suffix> and consent<suffix>; the last two are optional.

    A y with two axes is multi-label: `labels` names its columns, as `classes` names the classes of a y with
    one axis. Labels in `ignored` are set to 0. If `incomplete` is true, NaN in X means a missing value. If
    `numeric` is true, y contains a number for each record, with NaN where it is missing.
    """
    ids = _ids(arrays, f"{IDS}{suffix}", source)
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
    """Refuse labels of only 1 and -1: many files use -1 for no, but here it means unknown."""
    if y.dtype.kind in "if" and (y == UNKNOWN).any() and (y == 1).any() and not (y == 0).any():
        raise OstrakaError(
            ErrorCode.DATA_AMBIGUOUS,
            f"{source} has labels 1 and {UNKNOWN} but no 0, and {UNKNOWN} has two readings: no, or"
            " unknown? Write 0 for no, and NaN for unknown.",
        )


def write(dataset: Dataset, path: Path) -> None:
    """Write X in the records' original shape, the columns, and y, classes, consent and ids if they exist."""
    arrays: dict[str, Any] = {"columns": np.array(dataset.columns)}
    arrays["X"] = dataset.X.reshape(len(dataset), *(dataset.shape or (-1,)))
    if dataset.y is not None:
        # NaN clearly means unknown; -1 means no in many other files.
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
    """Return class indices and names.

    Integers are indices into the classes that the file stores. If it stores none, they are indices into
    `classes`, unless one of those names is a number.
    """
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


def _ids(arrays: Arrays, name: str, source: str) -> tuple[str, ...] | None:
    """Return the ids in an array as a table's column of the same values would give them."""
    if name not in arrays:
        return None
    import pyarrow as pa

    from ostraka.common.datasets.table_columns import record_ids

    stored = arrays[name].ravel()
    try:
        # Arrow takes bytes for no words, and NaN for a number.
        words = np.char.decode(stored, "utf-8") if stored.dtype.kind == "S" else stored
        column = pa.array(words)
    except (UnicodeDecodeError, pa.ArrowException) as exc:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{source} has {name} of type {stored.dtype} that cannot be read: write them as text.",
        ) from exc
    return record_ids(pa.table({name: column}), name, source)


def _strings(arrays: Arrays, name: str) -> tuple[str, ...] | None:
    return tuple(str(value) for value in arrays[name].ravel().tolist()) if name in arrays else None
