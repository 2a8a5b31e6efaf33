"""A task: what is learned from which features, as stated in the file `task.toml` at every site."""

from __future__ import annotations

import datetime
import hashlib
import json
import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, SerializerFunctionWrapHandler, ValidationError, model_serializer, model_validator
from pydantic_core import ErrorDetails

from ostraka.common.console.texts import list_words
from ostraka.common.datasets import Dataset, load
from ostraka.common.datasets.consent import COLUMN
from ostraka.common.datasets.dataset import require_finite
from ostraka.common.datasets.reading import Origin
from ostraka.common.datasets.table_files import Frame, Table, frame_table, is_table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.plan.fields import MAX_CLASSES
from ostraka.common.task.checks import check_columns, check_labels, check_target, check_values, clip_target
from ostraka.common.task.columns import Codes, Name
from ostraka.common.task.input import TableInput, TensorInput, twice
from ostraka.common.task.range_defaults import WILDCARD, matches, with_ranges
from ostraka.common.task.target import NumberTarget
from ostraka.common.validation import FrozenModel, first_problem, problem_text

OPTIONAL: tuple[tuple[str, Any], ...] = (
    ("multi_label", False),
    ("id", None),
    ("persons", False),
    ("ignore", ()),
    ("target", None),
    ("projection", None),
)
"""Fields that are left out if not stated, so that digests stay the same when fields are added."""


MAX_PROJECTION = 1024
"""Maximum number of features of a projection: for images of a million values its matrix fits into memory."""

Source: TypeAlias = Path | str | Dataset | Frame
"""Records in any form: a file, arrays in memory, or a table of pyarrow, pandas or polars."""


class Task(FrozenModel):
    """What is learned: features, classes or a number, and public preprocessing; its digest is in every plan.

    The `classes` of a multi-label task are its labels: a record has any number of them. A table then has a
    column of 0 and 1 for each label, with the label's name, instead of one column `label`. A table may have a
    column `id`, which is returned beside the labels, and columns to `ignore`; none of them is ever a feature.
    In a name to ignore, * matches any characters, but never a column that the task uses otherwise. `persons`
    says that an id is a person's, not a visit's or a sample's; without it there is no promise to persons.
    With a `target`, the column `label` contains a number, and there are no classes. A `projection` reduces
    records to that many features before any model sees them, in the same way at all sites
    (`ostraka.common.learning.projections`).
    """

    name: Name
    label: Name = "label"
    id: Name | None = None
    persons: bool = False
    ignore: Annotated[tuple[Name, ...], Field(max_length=100_000)] = ()
    classes: Annotated[tuple[Name, ...], Field(min_length=2, max_length=MAX_CLASSES)] = ()
    target: NumberTarget | None = None
    multi_label: bool = False
    projection: Annotated[int, Field(ge=1, le=MAX_PROJECTION)] | None = None
    input: Annotated[TableInput | TensorInput, Field(discriminator="kind")]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        if bool(self.classes) == (self.target is not None) or (self.target and self.multi_label):
            raise ValueError('name classes, or a [target] with kind = "number", and not both')
        repeated = twice(self.classes)
        if repeated is not None:
            raise ValueError(f"class '{repeated}' is named twice")
        if self.persons and self.id is None:
            raise ValueError("persons is true without an id that tells them apart; name their column as id")
        features = len(self.features)
        if self.projection is not None and self.projection >= features:
            raise ValueError(f"projection is {self.projection} of {features} features; leave it out")
        if isinstance(self.input, TableInput):
            named = {*self.columns, *self.input.sources}
            for name in self.labels:
                if name in named:
                    raise ValueError(f"column '{name}' is both a feature and the label")
            for name in self.unused:
                if name in named or name in self.labels:
                    raise ValueError(f"column '{name}' is used and is the id, or one to ignore")
        return self

    @model_serializer(mode="wrap")
    def _drop_unstated(self, serialize: SerializerFunctionWrapHandler) -> dict[str, Any]:
        fields: dict[str, Any] = serialize(self)
        stated = {k: v for k, v in fields.items() if (k, v) not in OPTIONAL and (k, v) != ("ignore", [])}
        return stated if self.target is None else {k: v for k, v in stated.items() if k != "classes"}

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of the task as canonical JSON (sorted keys, no blanks, UTF-8); 32 bytes.

        The JSON leaves out fields that are not stated, and the decimal mark of a column, in which sites may
        differ.
        """
        fields = self.model_dump(mode="json")
        for column in fields["input"].get("columns", ()):
            column.pop("decimal", None)
        text = json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode()).digest()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns in the order in which records store them; for arrays x0, x1, ..."""
        return self.input.names

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features that models take and queries contain."""
        return self.input.features

    @property
    def encoder(self) -> str:
        """The projection as the name of an encoder (`encoders.load_encoder`); empty if there is none."""
        if self.projection is None:
            return ""
        return f"projection:to_{self.projection}_of_{'x'.join(map(str, self.input.shape))}"

    @property
    def outputs(self) -> int:
        """Number of classes or labels that an answer distinguishes; 1 for a number."""
        return len(self.classes) or 1

    def require_classes(self, what: str) -> None:
        """Raise `task.numeric` for a task whose target is a number, which `what` cannot learn."""
        if self.target is not None:
            raise OstrakaError(
                ErrorCode.TASK_NUMERIC,
                f"The task '{self.name}' has a number as its target, but {what} needs classes: learn it from"
                " sums with `ostraka query fit`.",
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """Table columns that contain labels."""
        return self.classes if self.multi_label else (self.label,)

    @property
    def unused(self) -> tuple[str, ...]:
        """Columns that a table may have besides features and labels."""
        return self.ignore if self.id is None else (self.id, *self.ignore)

    def ignores(self, column: str, columns: Collection[str]) -> bool:
        """Whether `ignore` covers a column of a table that the task does not otherwise use.

        If a name with a wildcard is exactly the name of a column, it means that column only.
        """
        if column in self._used:
            return False
        wildcards = (name for name in self._wildcards if name not in columns)
        return column in self._ignored or any(matches(column, wildcard) for wildcard in wildcards)

    @cached_property
    def _used(self) -> frozenset[str]:
        return frozenset((*self.input.sources, *self.labels, *(() if self.id is None else (self.id,))))

    @cached_property
    def _ignored(self) -> frozenset[str]:
        return frozenset(self.ignore)

    @cached_property
    def _wildcards(self) -> tuple[str, ...]:
        return tuple(name for name in self.ignore if WILDCARD in name)

    @property
    def takes_consent(self) -> bool:
        """Whether a table's column `consent` contains consent levels: only if the task does not name it."""
        return COLUMN not in (*self.input.sources, *self.labels, *self.unused)

    def records(self, source: Source, *, ignored: Collection[str] = ()) -> Dataset:
        """Return the records of a file, of a table in memory, or of a `Dataset`, checked against this task.

        Raises:
            OstrakaError: as in `load`, `read` and `check`.
        """
        if isinstance(source, Path | str):
            return self.load(source, ignored=ignored)
        if not isinstance(source, Dataset):
            return self.read(source, ignored=ignored)
        return self._check_data(source.without_labels([self.classes.index(name) for name in ignored]))

    def pool(self, source: Source) -> Dataset:
        """Return records to be labelled, from any source that `records` takes; existing labels are not read.

        Raises:
            OstrakaError: as in `records`.
        """
        if isinstance(source, Dataset):
            return self._check_data(replace(source, y=None))
        if not isinstance(source, Path | str):
            return self._read(frame_table(source, Origin("the table")).without(self.labels), ())
        if isinstance(self.input, TableInput) and is_table(source):
            return self._read(read_table(source).without(self.labels), ())
        return self._check_data(replace(self._load_arrays(source, ()), y=None))

    def load(self, path: Path | str, *, ignored: Collection[str] = ()) -> Dataset:
        """Load a site's records for this task, look up their labels in its classes, and check them.

        A table's column `consent` contains consent levels unless the task names it. The `ignored` labels of a
        multi-label task are 0 whatever the file contains, even if it lacks them. The X of an .npz contains
        codes (`ostraka.common.task.columns`); an .npz with an array for each column instead is a table. Rows
        of a table without a class, and all records without a number as target, are left out if others have
        one; `reading` of the records says how many.

        Raises:
            OstrakaError: as in `load` and `read`.
        """
        if isinstance(self.input, TableInput) and is_table(path):
            return self._read(read_table(path), ignored)
        return self._check_data(self._load_arrays(path, ignored))

    def _load_arrays(self, path: Path | str, ignored: Collection[str]) -> Dataset:
        """Return the records of a file that is not a table of this task, without checks."""
        consent = self.takes_consent
        if self.multi_label:
            return load(path, self.classes, consent=consent, ignored=ignored, incomplete=True)
        if self.target is not None:
            return load(path, self.label, consent=consent, incomplete=True, target=self.target.format)
        return load(path, self.label, self.classes, consent=consent, incomplete=True)

    def read(
        self, table: Frame, *, source: Origin | str = "the table", ignored: Collection[str] = ()
    ) -> Dataset:
        """Return the records of a table in memory: pyarrow, pandas, polars, or any with Arrow's interface.

        Columns may come in any order. Raises `task.mismatch` for columns that are missing or unknown to the
        task, `data.not_numeric` naming all columns with values of a wrong kind, and for labels, consent and
        ranges the codes of `load` and `check`.
        """
        origin = source if isinstance(source, Origin) else Origin(source)
        return self._read(frame_table(table, origin), ignored)

    def _read(self, table: Table, ignored: Collection[str]) -> Dataset:
        from ostraka.common.task.sentinels import note_codes
        from ostraka.common.task.table_records import drop_unlabelled, read_records

        labelled = drop_unlabelled(self, table)
        data = read_records(self, labelled, ignored)
        if isinstance(self.input, TableInput) and data.reading is not None:
            data = replace(data, reading=data.reading.note(note_codes(self.input, data.X)))
        return self._check_data(data, labelled.origin)

    def _check_data(self, data: Dataset, source: Origin | str = "The data") -> Dataset:
        if data.X.shape[1] == len(self.columns):
            data = data.with_codes(self.input.clip(data.X))
        if self.target is not None:
            data = clip_target(self.target, self.label, data)
        self.check(data, source)
        return data.without_gaps(source)

    def prepare(self, X: NDArray[Any]) -> Codes:
        """Return the model features, float32 (Q, F), of codes (Q, ...): the public preprocessing.

        "range" maps each declared range onto [0, 1]; values beyond it go to its ends, and a range of one
        value to 0. Each category becomes a 0 or 1. A missing value becomes its constant, or 0 and an
        indicator of 1. Raises `data.shape` and `data.nan`.
        """
        flat = np.asarray(X, dtype=np.float32).reshape(len(X), math.prod(X.shape[1:]))
        if flat.shape[1] != len(self.columns):
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"Records have {flat.shape[1]} features but the task '{self.name}' has {len(self.columns)}: "
                "give records of the task's columns.",
            )
        require_finite(flat, self.columns, "The data", incomplete=self.input.takes_missing())
        return self.input.encode(flat)

    def check(self, dataset: Dataset, source: Origin | str = "The data") -> None:
        """Raise `task.mismatch`, `data.nan`, `data.shape` or `data.label_range` for the first problem."""
        check_columns(self.input, dataset)
        if self.target is None:
            check_labels(self.classes, self.multi_label, dataset)
        else:
            check_target(self.target, self.label, dataset, source)
        check_values(self.input, dataset, source)


def load_task(path: Path | str) -> Task:
    """Read `task.toml`; raise `config.invalid` naming the wrong key."""
    try:
        stated = with_ranges(read_toml(Path(path)))
        return Task.model_validate(stated)
    except FileNotFoundError as exc:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"There is no task file {path}: copy the federation's, or make one with"
            " `ostraka task init RECORDS --label COLUMN`.",
        ) from exc
    except OSError as exc:
        raise _invalid_file(path, "it cannot be read; check the path") from exc
    except ValidationError as exc:
        raise _invalid_file(path, task_problem(exc, stated)) from exc
    except TomlError as exc:
        raise _invalid_file(path, f"it {exc}") from exc


def write_task(task: Task, path: Path | str) -> None:
    """Write a `task.toml` from which `load_task` reads the same task."""
    Path(path).write_text(task_text(task.model_dump()), encoding="utf-8")


def task_text(fields: Mapping[str, Any], comments: Mapping[str, str] | None = None) -> str:
    """Return a task's fields as TOML, one column a line, with a comment after it if its name has one."""
    notes = comments or {}
    inputs = dict(fields["input"])
    columns = inputs.pop("columns", None)
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items() if key not in ("input", "target")]
    if "target" in fields:
        note = _comment(notes.get(fields.get("label", "label")))
        lines += [
            "",
            f"[target]{note}",
            *(f"{key} = {_toml(value)}" for key, value in fields["target"].items()),
        ]
    lines += ["", "[input]", *(f"{key} = {_toml(value)}" for key, value in inputs.items())]
    if columns is not None:
        rows = (f"    {{ {_inline(column)} }},{_comment(notes.get(column['name']))}" for column in columns)
        lines += ["columns = [", *rows, "]"]
    return "\n".join(lines) + "\n"


def task_problem(exc: ValidationError, data: object = None) -> str:
    """Return the problem of the task in `data`, without a full stop; for open ranges, name every column."""
    unranged = [_name_of(error) for error in exc.errors() if _is_open(error)]
    if unranged:
        names = list_words(list(dict.fromkeys(unranged)))
        return (
            f"the range of {names} is open: write min and max of what can occur, known from what is measured"
            " and not from private records"
        )
    return _value_problem(exc.errors()[0], data) or first_problem(exc, known=Task.model_fields, data=data)


def _value_problem(error: ErrorDetails, data: object) -> str:
    """Return the problem of a class, or of a column with a name; empty for anything else."""
    match error["loc"], data:
        case ("classes", int(index)), _:
            return f"class {index + 1} {problem_text(error)}; write classes as text in quotes"
        case ("input", _, "columns", int(index), _, field, *parts), {"input": {"columns": columns}}:
            name = columns[index].get("name") if isinstance(columns[index], dict) else None
            if not isinstance(name, str) or error["type"] == "extra_forbidden":
                return ""
            value = f"{field} {parts[0] + 1}" if parts and isinstance(parts[0], int) else str(field)
            return f"of column '{name}' {value} {problem_text(error).removeprefix('it ')}; correct it"
    return ""


def _is_open(error: ErrorDetails) -> bool:
    """Whether a column, or the target, lacks an end of its range."""
    ends = error["type"] == "missing" and error["loc"][-1] in ("min", "max")
    named = isinstance(error["input"], dict) and "name" in error["input"]
    return ends and (named or error["loc"][0] == "target")


def _name_of(error: ErrorDetails) -> str:
    return "the target" if error["loc"][0] == "target" else f"'{error['input']['name']}'"


def _toml(value: Any) -> str:
    """Return a value as TOML; JSON writes texts, numbers and arrays of them the same way."""
    return value.isoformat() if isinstance(value, datetime.date) else json.dumps(value, ensure_ascii=False)


def _inline(column: dict[str, Any]) -> str:
    return ", ".join(f"{key} = {_toml(value)}" for key, value in column.items())


def _comment(text: str | None) -> str:
    return "" if text is None else f"  # {text}"


def _invalid_file(path: Path | str, problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, f"The task file {path} is invalid: {problem}.")
