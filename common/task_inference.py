"""A first task proposed from labelled records."""

from collections.abc import Sequence

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.datasets.label_columns import default_names
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task_input import Column, Dtype, TableInput, TensorInput

Datasets = Sequence[Dataset]


def infer_classes(datasets: Datasets) -> tuple[str, ...]:
    """Return the records' class names, or "0", "1", ... where their labels are indices without a gap.

    Labels of multi-label records that have no names are called label0, label1, ...
    """
    _require_same_labels(datasets)
    labels = np.concatenate([dataset.labels() for dataset in datasets])
    if datasets[0].classes is not None:
        return datasets[0].classes
    if datasets[0].multi_label:
        return default_names(labels.shape[1])
    found = np.unique(labels)
    for index, label in enumerate(found.tolist()):
        if index != label:
            raise OstrakaError(
                ErrorCode.DATA_LABEL_RANGE,
                f"Labels run to {found[-1]} but class {index} never occurs: number the classes from 0 "
                "without a gap, or write task.toml by hand.",
                **{"class": str(index)},
            )
    return tuple(map(str, found.tolist()))


def infer_input(datasets: Datasets) -> TableInput | TensorInput:
    """Return the records' columns, or their shape, with the observed ranges and kinds of numbers."""
    first = datasets[0]
    low = np.min([dataset.X.min(axis=0) for dataset in datasets], axis=0)
    high = np.max([dataset.X.max(axis=0) for dataset in datasets], axis=0)
    whole = np.all([(np.trunc(dataset.X) == dataset.X).all(axis=0) for dataset in datasets], axis=0)
    if first.shape is not None:
        dtype = _dtype(bool(whole.all()), low.min(), high.max())
        ends = (float(low.min()), float(high.max()))
        return TensorInput(preprocessing="range", shape=first.shape, dtype=dtype, range=ends)
    columns = (_column(*column) for column in zip(first.columns, whole, low, high, strict=True))
    return TableInput(preprocessing="range", columns=tuple(columns))


def _require_same_labels(datasets: Datasets) -> None:
    widths = {dataset.labels().shape[1:] for dataset in datasets}
    if len(widths) > 1:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            "The data sets differ in the number of labels per record: give all of them the same labels.",
        )


def _column(name: str, whole: np.bool_, low: np.float32, high: np.float32) -> Column:
    return Column(name=name, dtype="int32" if whole else "float32", min=float(low), max=float(high))


def _dtype(whole: bool, low: np.float32, high: np.float32) -> Dtype:
    if not whole:
        return "float32"
    return "uint8" if low >= 0 and high <= 255 else "int32"
