"""Labels that a run released: the file labels.csv, and arrays for the querying party."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import RunState
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy.guarantees import NO_GUARANTEE
from ostraka.common.task import Task

if TYPE_CHECKING:
    from pandas import DataFrame

LABELS_FILE = "labels.csv"
STATUS = "status"
GUARANTEE = "guarantee"
RIGHT = "right"
ANSWERED = "answered"
ABSTAINED = "abstained"
BY_STUDENT = "student"
UNASKED = "unasked"


@dataclass(frozen=True)
class PoolIds:
    """The identifiers of a pool's records: the column's name, and a value for each record."""

    name: str
    values: Sequence[str | int]

    @classmethod
    def of(cls, task: Task, pool: Dataset) -> Self:
        """Return the ids in the task's id column, or the row numbers, from 0."""
        if task.id is not None and pool.ids is not None:
            return cls(task.id, pool.ids)
        return cls("id", range(len(pool)))


def write_labels(folder: Path, state: RunState, ids: PoolIds) -> None:
    """Write labels.csv: for every row of the pool its id, label and status.

    A multi-label task has a column for every label: 1, 0, or empty if that label got no answer. If parties
    randomised labels, a column has the probability that each of a record's labels is right. If ttac teachers
    voted, one more column says that the labels have no formal guarantee.
    """
    plan = state.parse_plan()
    multi_label = plan.multi_label
    more = (NO_GUARANTEE,) if state.unguaranteed else ()
    right = _right(plan)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    labels = state.classes if multi_label else ("label",)
    table.writerow((ids.name, *labels, STATUS, *(RIGHT for _ in right), *(GUARANTEE for _ in more)))
    rows = _label_rows(state) if multi_label else _class_rows(state)
    for name, row in zip(ids.values, rows, strict=True):
        table.writerow((name, *row, *(right if row[-1] == ANSWERED else [""] * len(right)), *more))
    write_atomic(folder / LABELS_FILE, text.getvalue())


def _right(plan: Plan) -> tuple[str, ...]:
    """Return the probability that a randomised label is right; empty for other labels."""
    if plan.mechanism.party_setting != "randomized_labels":
        return ()
    return (f"{1 - plan.mechanism.known_error(1, plan.classes):.4f}",)


def _class_rows(state: RunState) -> Iterator[tuple[object, ...]]:
    answers = state.answers()
    own = state.by_student()
    for query in range(state.pool_size):
        label = answers.get(query)
        if isinstance(label, int):
            yield state.classes[label], ANSWERED
        elif query in own:
            yield state.classes[own[query]], BY_STUDENT
        else:
            yield "", ABSTAINED if query in answers else UNASKED


def _label_rows(state: RunState) -> Iterator[tuple[object, ...]]:
    answers = state.answers()
    queries = range(state.pool_size)
    labels = label_matrix([answers.get(query) for query in queries], len(state.classes))
    for query, bits in zip(queries, labels.tolist(), strict=True):
        status = ANSWERED if max(bits) >= 0 else ABSTAINED if query in answers else UNASKED
        yield *("" if bit < 0 else bit for bit in bits), status


@dataclass(frozen=True, eq=False)
class Labels:
    """What a run labelled: a row for each record of its pool, in the pool's order.

    Attributes:
        run: the run's folder.
        columns: the id column, the label column (multi-label: one per label), `status`, and `guarantee` if
            the labels have no formal guarantee.
        rows: the cells of labels.csv as text, a tuple for each record.
    """

    run: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...] = field(repr=False)

    @classmethod
    def read(cls, run: Path | str, **more: Any) -> Self:
        """Read the labels in a run's folder; raise `data.missing` if there are none."""
        file = Path(run) / LABELS_FILE
        try:
            with file.open(newline="", encoding="utf-8") as text:
                columns, *rows = map(tuple, csv.reader(text))
        except (FileNotFoundError, NotADirectoryError) as exc:
            raise OstrakaError(
                ErrorCode.DATA_MISSING, f"There are no labels in {run}: name the folder of a run."
            ) from exc
        return cls(run=Path(run), columns=columns, rows=tuple(rows), **more)

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Mapping[str, str]]:
        """Iterate over the records, each a mapping from column to cell."""
        return (dict(zip(self.columns, row, strict=True)) for row in self.rows)

    def __getitem__(self, column: str) -> tuple[str, ...]:
        """Return the cells of a column; raise KeyError for an unknown column."""
        if column not in self.columns:
            raise KeyError(column)
        place = self.columns.index(column)
        return tuple(row[place] for row in self.rows)

    @cached_property
    def answered(self) -> int:
        """Number of records that the parties' teachers labelled."""
        return self[STATUS].count(ANSWERED)

    def frame(self) -> "DataFrame":
        """Return these columns as a pandas data frame; raise `config.invalid` if pandas is not installed."""
        from ostraka.common.datasets.frames import data_frame

        return data_frame(list(self), self.columns)

    def __str__(self) -> str:
        return f"{self.answered} of {len(self)} records labelled: {self.run / LABELS_FILE}"

    def _repr_html_(self) -> str:
        """Return the notebook view: a table."""
        from ostraka.common.datasets.frames import html_table

        return html_table(str(self), self.columns, self.rows)
