"""Task files: a draft for a person to complete, a task in words, and records compared with a task."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.common.console.cli import write_file
from ostraka.common.console.texts import count_text, list_words
from ostraka.common.datasets import Dataset
from ostraka.common.datasets.reading import Reading
from ostraka.common.datasets.table_files import is_table, read_table
from ostraka.common.errors import ErrorCode, OstrakaError, printable
from ostraka.common.task import Task, TensorInput, load_task
from ostraka.common.task.column_proposal import MIN_HOLDERS
from ostraka.common.task.columns import NamedColumn
from ostraka.common.task.findings import Findings
from ostraka.common.task.label_proposal import TargetKind
from ostraka.common.task.table_proposal import TaskProposal, propose_task
from ostraka.common.task.task import task_text

OPEN = "write min and max"
MANY = 20
"""Number of open ranges above which a draft says how to state one for many columns."""
DEFAULTS = """
# A range for every column of numbers above that has none, and one for those whose names begin alike:
# [input.table.defaults]
# min =
# max =
# clip = true
# [input.table.defaults."gene*"]
# min =
# max =
"""
LEFT_OPEN = """\
# Proposed from {records}. Complete it by what can occur, known from what is measured: what is taken from
# private records tells about them.
# - min and max of every column, and target, that has none
# - dtype = "int32" where numbers are whole
# - missing = "indicator", or a constant, where values can be missing
# - classes, and values of categories: those that fewer than {least} records have are left out
# - kinds of columns, which one odd value can change
# Then: ostraka task check {out} {records}
"""
FROM_PUBLIC = """\
# Proposed from {records}, which are taken to be public.
"""


@dataclass(frozen=True)
class DraftTask:
    """A written draft, and what is left to a person unless the records are public."""

    file: Path
    records: Path
    proposal: TaskProposal
    public: bool
    reading: Reading

    @property
    def open(self) -> tuple[str, ...]:
        """Columns whose ranges are left open."""
        return self._missing_columns("min")

    @property
    def missing(self) -> tuple[str, ...]:
        """Columns with missing values for which the draft leaves open whether they may be missing."""
        return self._missing_columns("missing")

    @property
    def whole(self) -> tuple[str, ...]:
        """Columns of whole numbers for which the draft leaves open whether numbers are whole."""
        return tuple(
            name for name in self._missing_columns("dtype") if self.proposal.found[name]["dtype"] == "int32"
        )

    def sentences(self) -> str:
        """Return what was found, and what to do next, one sentence per line."""
        fields = self.proposal.fields
        columns = fields["input"]["columns"]
        classes = ", ".join(fields.get("classes", ())) or "left out"
        learned = f"a number in '{fields['label']}'" if "target" in fields else f"classes {classes}"
        told = [f"Wrote {self.file}: {_count(columns, 'column')}, {learned}."]
        if "id" in fields:
            told.append(f"Column '{fields['id']}' is the records' id: it comes back beside the labels.")
        if "ignore" in fields:
            told.append(f"Ignored: {list_words(fields['ignore'])}.")
        told += [*self.reading.sentences(), *self.proposal.notes]
        if self.open:
            told.append(f"Open ranges: {list_words(self.open)}. Write the min and max that can occur.")
        if len(self.open) > MANY:
            told.append(
                "For many columns at once write them in [input.table.defaults], at the end of the file."
            )
        if self.whole:
            told.append(
                f'Only whole numbers: {list_words(self.whole)}. Write dtype = "int32" if no other numbers '
                "can occur."
            )
        if self.missing:
            told.append(
                f"Missing values: {list_words(self.missing)}. Write missing where values can be missing."
            )
        if not self.public:
            told.append(
                "This command leaves open what one private record could decide, because the task would "
                "reveal it (--from-public does not)."
            )
        return "\n".join([*told, f"Then: ostraka task check {self.file} {self.records}"])

    def summary(self) -> dict[str, Any]:
        """Return the same as values for JSON."""
        fields = self.proposal.fields
        return {
            "file": str(self.file),
            "classes": fields.get("classes", []),
            "target": self.proposal.fill_in().get("target") if self.public else fields.get("target"),
            "columns": [column["name"] for column in fields["input"]["columns"]],
            "id": fields.get("id"),
            "ignored": fields.get("ignore", []),
            "open": list(self.open),
            "whole": list(self.whole),
            "missing": list(self.missing),
            "notes": list(self.proposal.notes),
        }

    def _missing_columns(self, field: str) -> tuple[str, ...]:
        found = {} if self.public else self.proposal.found
        return tuple(column for column, fields in found.items() if field in fields)


def draft_task(
    records: Path,
    labels: tuple[str, ...],
    name: str,
    out: Path,
    *,
    public: bool,
    target: TargetKind | None = None,
) -> DraftTask:
    """Write a proposal for the table `records` to the file `out`; `target` is as for `propose_task`.

    Raises:
        OstrakaError: as `propose_task` and `read_table`; `config.invalid` if `out` exists.
    """
    if not is_table(records):
        raise _no_table(records)
    table = read_table(records)
    # Not before the table is found: whoever mistyped its path must not remove a good file first.
    if out.exists():
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"{out} exists: name another file with --out, or remove it."
        )
    labels = _split_labels(labels, table.columns.column_names)
    proposal = propose_task(
        table.columns,
        labels,
        name,
        source=table.origin,
        public=public,
        reading=table.reading,
        target=target,
    )
    draft = DraftTask(out, records, proposal, public, table.reading)
    named = {"records": printable(str(records)), "out": printable(str(out)), "least": MIN_HOLDERS}
    header = (FROM_PUBLIC if public else LEFT_OPEN).format_map(named)
    if public:
        proposal.task()
    fields = proposal.fill_in() if public else proposal.fields
    text = header + task_text(fields, dict.fromkeys(draft.open, OPEN))
    write_file(out, (text + DEFAULTS * (len(draft.open) > MANY)).encode())
    return draft


def _split_labels(labels: tuple[str, ...], columns: Sequence[str]) -> tuple[str, ...]:
    """Return labels, where one text may name several columns with commas."""
    parts = [[label] if label in columns else label.split(",") for label in labels]
    return tuple(part for label in parts for part in label)


def _count(things: list[Any], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"


def _no_table(records: Path) -> OstrakaError:
    if not records.is_file():
        return OstrakaError(ErrorCode.DATA_MISSING, f"There is no data file {records}: check the path.")
    return OstrakaError(
        ErrorCode.DATA_UNREADABLE,
        f"{records} is not a table: give a .csv, .parquet or .xlsx, or an .npz with an array a column;"
        " docs/task.md has a task for arrays of one shape.",
    )


@dataclass(frozen=True)
class CheckedRecords:
    """Records that fit a task, and notes for a person."""

    file: Path
    task: Task
    data: Dataset
    findings: Findings

    @property
    def held(self) -> dict[str, int]:
        """Number of records by class, or by label; empty if they are unlabelled, or have numbers."""
        if self.data.y is None or self.data.numeric:
            return {}
        if self.data.multi_label:
            counts = (self.data.y == 1).sum(axis=0)
        else:
            counts = np.bincount(self.data.labels(), minlength=len(self.task.classes))
        return dict(zip(self.task.classes, counts.tolist(), strict=True))

    @property
    def numbers(self) -> dict[str, float] | None:
        """Least, mean and largest of the records' numbers; None if they have none."""
        if not self.data.numeric:
            return None
        y = self.data.numbers()
        return {"least": float(y.min()), "mean": float(y.mean()), "most": float(y.max())}

    def sentences(self) -> str:
        """Return what fits, how many records each class has, and what was guessed, one sentence per line."""
        held = ", ".join(f"{count} {name}" for name, count in self.held.items())
        labels = f"labels: {held}" if held else "no labels"
        if self.numbers is not None:
            labels = "numbers in '{}': {least:g} to {most:g}, {mean:g} on average".format(
                self.task.label, **self.numbers
            )
        columns = len(self.task.input.sources or self.task.columns)
        features = len(self.task.features)
        fits = (
            f"{self.file} fits '{self.task.name}': {len(self.data)} records, {count_text(columns, 'column')},"
            f" {count_text(features, 'feature')}; {labels}."
        )
        guessed = self.data.read_as
        return "\n".join([fits, *guessed, *self.findings.sentences()])

    def summary(self) -> dict[str, Any]:
        """Return the same as values for JSON."""
        return {
            "file": str(self.file),
            "task": self.task.name,
            "digest": self.task.digest.hex(),
            "records": len(self.data),
            "columns": len(self.task.input.sources or self.task.columns),
            "features": len(self.task.features),
            "labels": self.held,
            "numbers": self.numbers,
            "reading": None if self.data.reading is None else asdict(self.data.reading),
            **self.findings.summary(),
        }


def check_records(task_file: Path, records: Path) -> CheckedRecords:
    """Load records for a task; raises what `load_task`, `Task.load` and `Findings.of` raise."""
    task = load_task(task_file)
    data = task.load(records)
    return CheckedRecords(records, task, data, Findings.of(task, data))


def explain(task: Task) -> str:
    """Return a description of a task, a line for each column."""
    kind = "labels, any number of which a record has" if task.multi_label else "classes, one a record"
    learned = f"{len(task.classes)} {kind}: {', '.join(task.classes)}"
    if task.target is not None:
        clipped = ", clipped" if task.target.clip else ""
        learned = f"a number a record, {task.target.words()}{clipped}"
    lines = [
        f"{task.name}: {learned}",
        f"digest: {task.digest.hex()}",
    ]
    if isinstance(task.input, TensorInput):
        low, high = task.input.range
        shape = "x".join(map(str, task.input.shape))
        lines.append(f"records: arrays of shape {shape}, {task.input.dtype}, {low:g} to {high:g}")
    else:
        lines += [f"label: {', '.join(task.labels)}"] if not task.multi_label else []
        lines += [f"id: {task.id}"] if task.id else []
        lines += [f"ignored: {', '.join(task.ignore)}"] if task.ignore else []
        lines += [f"columns: {len(task.input.sources)}, which make {len(task.features)} features"]
        width = max(len(name) for name in task.input.sources)
        lines += [f"  {column.name:<{width}}  {_describe(column)}" for column in task.input.columns]
    scaled = "scaled by their range" if task.input.preprocessing == "range" else "as they are"
    return "\n".join([*lines, f"values: {scaled}"])


def summary(task: Task) -> dict[str, Any]:
    """Return the same as values for JSON."""
    fields = task.model_dump(mode="json")
    return {**fields, "digest": task.digest.hex(), "features": list(task.features)}


def _describe(column: NamedColumn) -> str:
    fields = column.model_dump(mode="json")
    told = [str(fields.get("dtype", column.kind))]
    if column.kind == "text":
        told.append(f"{fields['width']} features of up to {fields['words']} words")
    elif column.categories:
        told.append(f"one of {', '.join(column.categories)}")
    elif "min" in fields:
        unit = f" {fields['unit']}" if "unit" in fields else ""
        ends = (f"{end:g}" if isinstance(end, float) else end for end in (fields["min"], fields["max"]))
        told.append(f"{' to '.join(ends)}{unit}{', clipped' if column.clips else ''}")
    if column.takes_missing:
        told.append(f"missing: {'a feature says so' if column.indicates else fields['missing']}")
    return ", ".join(told)
