"""The file labels.csv of a run: what every record of the pool was labelled with."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import RunState
from ostraka.common.datasets import Dataset
from ostraka.common.files.durable import write_atomic
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy.guarantees import NO_GUARANTEE
from ostraka.common.task import Task

LABELS_FILE = "labels.csv"
GUARANTEE = "guarantee"
RIGHT = "right"
ANSWERED, ABSTAINED, BY_STUDENT, UNASKED = "answered", "abstained", "student", "unasked"


@dataclass(frozen=True)
class PoolIds:
    """What tells the records of a pool apart: the name of the column, and a value for each record."""

    name: str
    values: Sequence[str | int]

    @classmethod
    def of(cls, task: Task, pool: Dataset) -> Self:
        """Return the ids that the task's id column holds, or the rows of the pool, from 0."""
        if task.id is not None and pool.ids is not None:
            return cls(task.id, pool.ids)
        return cls("id", range(len(pool)))


def write_labels(folder: Path, state: RunState, ids: PoolIds) -> None:
    """Write labels.csv: for every row of the pool its id, its label and status.

    A multi-label task has a column for every label: 1, 0, or empty where that label got no answer. Labels
    that parties randomised have a column of the probability with which each of a record's is right. One more
    column says that no formal guarantee goes with the labels, where teachers of ttac voted.
    """
    plan = state.parsed_plan()
    multi_label = plan.multi_label
    more = (NO_GUARANTEE,) if state.unguaranteed else ()
    right = _right(plan)
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    labels = state.classes if multi_label else ("label",)
    table.writerow((ids.name, *labels, "status", *(RIGHT for _ in right), *(GUARANTEE for _ in more)))
    rows = _label_rows(state) if multi_label else _class_rows(state)
    for name, row in zip(ids.values, rows, strict=True):
        table.writerow((name, *row, *(right if row[-1] == ANSWERED else [""] * len(right)), *more))
    write_atomic(folder / LABELS_FILE, text.getvalue())


def _right(plan: Plan) -> tuple[str, ...]:
    """Return the probability with which a label that its party randomised is right; none for others."""
    if plan.mechanism.party_setting != "randomized_labels":
        return ()
    return (f"{1 - plan.mechanism.known_error(1, plan.classes):.4f}",)


def _class_rows(state: RunState) -> Iterator[tuple[object, ...]]:
    answers, own = state.answers(), state.by_student()
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
