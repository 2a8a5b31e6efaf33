"""Tasks: what is classified, agreed on by every site of a federation in one file, `task.toml`."""

import hashlib
import json
import math
from collections.abc import Collection
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError, model_validator

from ostraka.common.datasets import Dataset, load
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import require_finite
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.frozen_model import FrozenModel
from ostraka.common.plan_fields import MOST_CLASSES
from ostraka.common.task_check import check_columns, check_labels, check_values
from ostraka.common.task_inference import infer_classes, infer_input
from ostraka.common.task_input import Column, Name, TableInput, TensorInput, twice
from ostraka.common.toml_files import TomlError, read_toml

__all__ = ["Column", "TableInput", "Task", "TensorInput", "infer_task", "load_task", "write_task"]


class Task(FrozenModel):
    """What is classified: features, classes and public preprocessing; its digest is part of every plan.

    The `classes` of a multi-label task are its labels: a record has any number of them, and a table has a
    column of 0 and 1 for each, named like it, instead of one column `label`.
    """

    name: Name
    label: Name = "label"
    classes: Annotated[tuple[Name, ...], Field(min_length=2, max_length=MOST_CLASSES)]
    multi_label: bool = False
    input: Annotated[TableInput | TensorInput, Field(discriminator="kind")]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        repeated = twice(self.classes)
        if repeated is not None:
            raise ValueError(f"class '{repeated}' is named twice")
        if isinstance(self.input, TableInput):
            features = set(self.columns)
            for name in self.classes if self.multi_label else (self.label,):
                if name in features:
                    raise ValueError(f"column '{name}' is both a feature and the label")
        return self

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the task as canonical JSON (sorted keys, no blanks, UTF-8); 32 bytes.

        Only multi-label tasks have the key `multi_label`.
        """
        fields = self.model_dump(mode="json", exclude=None if self.multi_label else {"multi_label"})
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).digest()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Feature names in the order in which records hold them."""
        return self.input.names

    def load(self, path: Path | str, *, ignored: Collection[str] = ()) -> Dataset:
        """Load a site's records for this task, labels looked up in its classes, and check them.

        A table's column `consent` holds consent levels unless the task has a feature or label of that name.
        The `ignored` labels of a multi-label task are 0 whatever the file holds, also where it lacks them.
        """
        labels = self.classes if self.multi_label else (self.label,)
        consent = COLUMN not in (*self.columns, *labels)
        if self.multi_label:
            data = load(path, self.classes, consent=consent, ignored=ignored)
        else:
            data = load(path, self.label, self.classes, consent=consent)
        self.check(data)
        return data

    def prepare(self, X: NDArray[Any]) -> NDArray[np.float32]:
        """Raw features (Q, ...) as models take them: flat float32 (Q, F), after the public preprocessing.

        "range" maps each declared range onto [0, 1], values beyond it to its ends, and a range of one value
        to 0. Raises `data.shape` and `data.nan`.
        """
        flat = np.asarray(X, dtype=np.float32).reshape(len(X), math.prod(X.shape[1:]))
        if flat.shape[1] != len(self.columns):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"Records have {flat.shape[1]} features but the task '{self.name}' has {len(self.columns)}: "
                "give records of the task's columns.",
            )
        require_finite(flat, self.columns, "The data")
        if self.input.preprocessing == "none":
            return flat
        low, high = (bound.astype(np.float32) for bound in self.input.bounds())
        scaled = np.clip(flat, low, high)
        scaled -= low
        scaled /= np.where(high > low, high - low, np.float32(1))
        return scaled

    def check(self, dataset: Dataset) -> None:
        """Raise `task.mismatch`, `data.nan`, `data.shape` or `data.label_range` for the first problem."""
        check_columns(self.input, dataset)
        check_labels(self.classes, self.multi_label, dataset)
        check_values(self.input, dataset)


def load_task(path: Path | str) -> Task:
    """Read `task.toml`; raise `config.invalid` naming the key that is wrong."""
    try:
        return Task.model_validate(read_toml(Path(path)))
    except OSError as exc:
        raise _invalid_file(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        raise _invalid_file(path, _first_problem(exc)) from exc
    except TomlError as exc:
        raise _invalid_file(path, f"it {exc}") from exc


def write_task(task: Task, path: Path | str) -> None:
    """Write a `task.toml` that `load_task` reads back the same."""
    keys = ("name", "label", "classes", *(("multi_label",) if task.multi_label else ()))
    lines = [f"{key} = {_toml(getattr(task, key))}" for key in keys]
    fields = task.input.model_dump(exclude={"columns"})
    lines += ["", "[input]", *(f"{key} = {_toml(value)}" for key, value in fields.items())]
    if isinstance(task.input, TableInput):
        rows = (
            ", ".join(f"{k} = {_toml(v)}" for k, v in column.model_dump().items())
            for column in task.input.columns
        )
        lines += ["columns = [", *(f"    {{ {row} }}," for row in rows), "]"]
    Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")


def infer_task(dataset: Dataset, name: str, *more: Dataset, label: str = "label") -> Task:
    """Infer a task that fits these labelled records: their columns or shape, observed ranges and classes.

    Multi-label records make a multi-label task; labels without names are called label0, label1, ...
    The ranges become public with the task, so infer it from public records or correct them by hand. Raises
    `data.missing` without labels, `data.label_range` where class indices leave a gap, `data.shape` where the
    records differ in the number of labels, and `config.invalid` where no task can be made of what was found.
    """
    datasets = (dataset, *more)
    try:
        return Task(
            name=name,
            label=label,
            classes=infer_classes(datasets),
            multi_label=dataset.multi_label,
            input=infer_input(datasets),
        )
    except ValidationError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"No task can be inferred from the data, {_first_problem(exc)}: correct them.",
        ) from exc


def _toml(value: Any) -> str:
    """JSON writes strings, numbers and arrays of them as TOML does."""
    return json.dumps(value, ensure_ascii=False)


def _first_problem(exc: ValidationError) -> str:
    first = exc.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "task"
    return f"{where}: {first['msg'].removeprefix('Value error, ')}"


def _invalid_file(path: Path | str, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The task file {path} is invalid: {problem}.")
