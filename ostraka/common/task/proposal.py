"""A first task, inferred from labelled records."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from ostraka.common.datasets import Dataset
from ostraka.common.datasets.label_columns import default_names
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task.columns import Dtype, NumberColumn
from ostraka.common.task.input import TableInput, TensorInput
from ostraka.common.task.task import Task, task_problem

Datasets = Sequence[Dataset]


def infer_task(dataset: Dataset, name: str, *more: Dataset, label: str = "label") -> Task:
    """Infer a task that fits these labelled records: their columns or shape, observed ranges and classes.

    Numeric records make a task with a target. Multi-label records make a multi-label task; labels without
    names are called label0, label1, ... The ranges become public with the task, so infer it from public
    records or correct them by hand. Raises `data.missing` without labels, `data.label_range` if class indices
    leave a gap, `data.shape` if the datasets differ in the number of labels, and `config.invalid` if the
    result is not a valid task.
    """
    datasets = (dataset, *more)
    try:
        return Task(
            name=name,
            label=label,
            **_infer_answers(datasets),
            multi_label=dataset.multi_label,
            input=infer_input(datasets),
        )
    except ValidationError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"No task can be inferred from the data: {task_problem(exc)}.",
        ) from exc


def _infer_answers(datasets: Datasets) -> dict[str, Any]:
    """Return the classes, or the target for numeric records, as fields of a task."""
    if not datasets[0].numeric:
        return {"classes": infer_classes(datasets)}
    numbers = np.concatenate([dataset.numbers() for dataset in datasets])
    return {"target": {"kind": "number", "min": float(numbers.min()), "max": float(numbers.max())}}


def infer_classes(datasets: Datasets) -> tuple[str, ...]:
    """Return the records' class names, or "0", "1", ... if their labels are indices without a gap.

    Labels of multi-label records without names are called label0, label1, ...
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
    """Return the records' columns, or their shape, with the observed ranges and number types."""
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


def _column(name: str, whole: np.bool_, low: np.float32, high: np.float32) -> NumberColumn:
    return NumberColumn(name=name, dtype="int32" if whole else "float32", min=float(low), max=float(high))


def _dtype(whole: bool, low: np.float32, high: np.float32) -> Dtype:
    if not whole:
        return "float32"
    return "uint8" if low >= 0 and high <= 255 else "int32"
