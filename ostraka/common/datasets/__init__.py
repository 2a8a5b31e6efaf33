"""Loading, splitting and saving records as arrays."""

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
"""Share of the test records where the file has no split of its own: four fifths remain for training."""


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
    """Load the records of one file: an .npz (X, y) or a table.

    The records are unlabelled if the .npz has no y, or the table has no label column. An .npz whose y has two
    axes, (records, labels), is always multi-label. If it has an array `consent`, that array contains a
    consent level for every record.

    Args:
        path: the file; its suffix determines its kind.
        label: the name of a table's label column; for multi-label records the names of all labels. In a table
            each of them is a column of 0 and 1.
        classes: the class names of the task; the labels of a single label column must be among them.
        consent: whether a table's column `consent`, if it exists, contains consent levels; otherwise it is a
            feature.
        ignored: labels of multi-label records that are set to 0 whatever the file contains, even if it has no
            column for them.
        incomplete: whether NaN in an .npz means a missing value; otherwise NaN is refused.
        target: the number format of the label column, or of y, if it contains a number for each record
            instead of a class, with NaN where the number is missing. None means that it contains classes.

    Raises:
        OstrakaError: `data.missing`, `data.unreadable`, `data.shape`, `data.nan`, `data.not_numeric` or
            `data.label_range`. The message names the file and, where applicable, the column and the row or
            line.
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
    """Return the training and test records of one labelled file, read as in `load`.

    An .npz with X_train, y_train, X_test and y_test is already split. From any other file, a fifth of the
    records is drawn with `seed` for testing. Numeric records without a number are left out.
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
    """Write an .npz from which `load` reads the same dataset."""
    npz.write(dataset, Path(path))


def digits() -> Dataset:
    """scikit-learn's 1,797 handwritten digits: 8x8 pixels of 0..16, ten classes; included in the package."""
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
