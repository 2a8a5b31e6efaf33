"""Records as arrays: read from files, split, written."""

from collections.abc import Collection
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import npz, table_columns, table_files
from ostraka.common.datasets.dataset import Dataset, from_arrays
from ostraka.common.datasets.label_columns import require_in_range
from ostraka.common.datasets.number_format import NumberFormat
from ostraka.common.errors import ErrorCode, OstrakaError

__all__ = ["Dataset", "digits", "from_arrays", "load", "load_splits", "save"]

TEST_FRACTION = 0.2
"""Held out of a file that says no split: four fifths are left to learn from."""


def load(
    path: Path | str,
    label: str | tuple[str, ...] = "label",
    classes: tuple[str, ...] | None = None,
    *,
    consent: bool = False,
    ignored: Collection[str] = (),
    incomplete: bool = False,
    target: NumberFormat | None = None,
) -> Dataset:
    """Load the records of one file: an .npz (X, y), or a table; unlabelled without a y or label column.

    An .npz whose y has two axes, (records, labels), is multi-label whatever is asked for. Its array
    `consent`, where there is one, holds a consent level for every record.

    Args:
        path: the file; its suffix says its kind.
        label: name of the label column of a table; for multi-label records the names of all labels, each of
            which is a column of 0 and 1 in a table.
        classes: the task's class names, which labels of one column are then looked up in.
        consent: whether a table's column `consent`, where there is one, holds consent levels; otherwise it
            is a feature.
        ignored: labels of multi-label records that are 0 whatever the file holds, also where it lacks them.
        incomplete: whether NaN in an .npz stands for a missing value, instead of being refused.
        target: how the label column, or y, writes a number for each record, which it then holds instead of a
            class, NaN where it is missing; None: it holds classes.

    Raises:
        OstrakaError: `data.missing`, `data.unreadable`, `data.shape`, `data.nan`, `data.not_numeric` or
            `data.label_range`, naming the file, and the column and the row, or line, where there is one.
    """
    file = _existing(path)
    if table_files.kind_of(file) == ".npz":
        labels = None if isinstance(label, str) else label
        arrays = npz.read_arrays(file)
        return npz.dataset_of(
            arrays,
            "",
            classes,
            str(file),
            labels=labels,
            ignored=ignored,
            incomplete=incomplete,
            numeric=target is not None,
        )
    table = table_files.read_table(file)
    return table_columns.dataset_of(table, label, classes, consent=consent, ignored=ignored, target=target)


def load_splits(
    path: Path | str,
    label: str | tuple[str, ...] = "label",
    seed: int = 0,
    *,
    target: NumberFormat | None = None,
) -> tuple[Dataset, Dataset]:
    """Training and test records of one labelled file, as in `load`; records without a number are left out.

    An .npz with X_train, y_train, X_test and y_test is split already; of anything else a fifth, drawn by
    `seed`, is for testing.
    """
    file = _existing(path)
    if table_files.kind_of(file) == ".npz":
        arrays = npz.read_arrays(file)
        if "X" not in arrays:
            return _read_splits(arrays, str(file), None if isinstance(label, str) else label, target)
    data = load(file, label, target=target).without_gaps(str(file))
    data.targets()
    order = np.random.default_rng(seed).permutation(len(data))
    held_out = max(1, round(TEST_FRACTION * len(data)))
    return data.take(order[held_out:]), data.take(order[:held_out])


def save(dataset: Dataset, path: Path | str) -> None:
    """Write an .npz that `load` reads back the same."""
    npz.write(dataset, Path(path))


def digits() -> Dataset:
    """scikit-learn's 1,797 handwritten digits: 8x8 pixels of 0..16, ten classes; comes with the package."""
    from sklearn.datasets import load_digits

    data = load_digits()
    names = tuple(str(name) for name in data.target_names)
    return from_arrays(data.images, data.target, classes=names, source="digits")


def _read_splits(
    arrays: npz.Arrays, source: str, labels: tuple[str, ...] | None, target: NumberFormat | None
) -> tuple[Dataset, Dataset]:
    numeric = target is not None
    train = npz.dataset_of(arrays, "_train", None, source, labels=labels, numeric=numeric)
    test = npz.dataset_of(arrays, "_test", train.classes, source, labels=labels, numeric=numeric)
    if numeric:
        train = train.without_gaps(source)
        test = test.without_gaps(source)
    else:
        _require_same_labels(train.labels(), test.labels(), source)
    if test.columns != train.columns or test.shape != train.shape:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has {len(train.columns)} features to train with and {len(test.columns)} to test with: "
            "give X_train and X_test records of one shape.",
        )
    return train, test


def _require_same_labels(train: NDArray[np.int64], test: NDArray[np.int64], source: str) -> None:
    if test.shape[1:] != train.shape[1:]:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{source} has y_train of shape {train.shape} and y_test of shape {test.shape}: "
            "give both the same labels.",
        )
    if train.ndim == 1:
        require_in_range(test, int(train.max()) + 1, f"{source}, y_test,")


def _existing(path: Path | str) -> Path:
    file = Path(path)
    if table_files.kind_of(file) is None:
        raise OstrakaError(
            ErrorCode.DATA_UNREADABLE,
            f"{file} is not a data file of a known kind: give one of {', '.join(table_files.KINDS)}.",
        )
    if not file.is_file():
        raise OstrakaError(ErrorCode.DATA_MISSING, f"There is no data file {file}: check the path.")
    return file
