"""A model's predictions for a pool: labels.csv in the run folder, with probabilities or intervals."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ostraka.client.fitting.problems import Features, KnownRecords
from ostraka.client.learners.fit import Model
from ostraka.client.run.labels import LABELS_FILE, STATUS
from ostraka.common.estimators.sum_models import SumClassifier, SumRegressor
from ostraka.common.files.durable import write_atomic
from ostraka.common.task import Task

if TYPE_CHECKING:
    from ostraka.client.students.neural import Neural

BY_MODEL = "by model"
PROBABILITY = "probability"
ENDS = ("low", "high")
"""Columns of a number's interval."""
DIGITS = 4
"""Decimals of a probability: more would exceed the precision of the calibration."""


def write_labels(folder: Path, known: KnownRecords, model: Model) -> Path:
    """Write labels.csv for the pool and return its path: id, label, and certainty of each record.

    A class has its probability. A multi-label record has 0 or 1 per label, and the smallest probability of
    any of them. A number has the ends of its 90% interval. Every record's status is "by model". There must be
    a pool.
    """
    assert known.pool is not None and known.ids is not None  # noqa: S101, PT018 - they come together
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    if isinstance(model, SumRegressor):
        heads, rows = _number_rows(known.task, model, known.pool)
    else:
        heads, rows = _rows(known.task, model, known.pool)
    table.writerow((known.ids.name, *heads, STATUS))
    for name, row in zip(known.ids.values, rows, strict=True):
        table.writerow((name, *row, BY_MODEL))
    path = folder / LABELS_FILE
    write_atomic(path, text.getvalue())
    return path


Rows = Iterator[tuple[object, ...]]


def _rows(task: Task, model: "SumClassifier | Neural", pool: Features) -> tuple[tuple[str, ...], Rows]:
    """Return the columns for classes or labels, and a row for each record of the pool."""
    probabilities = model.predict_proba(pool)
    if task.multi_label:
        said = model.predict(pool)
        sure = np.maximum(probabilities, 1 - probabilities).min(axis=1)
        rows = ((*bits, f"{p:.{DIGITS}f}") for bits, p in zip(said.tolist(), sure, strict=True))
        return (*task.classes, PROBABILITY), rows
    best = probabilities.argmax(axis=1)
    pairs = zip(best.tolist(), probabilities.max(axis=1), strict=True)
    return ("label", PROBABILITY), ((task.classes[label], f"{p:.{DIGITS}f}") for label, p in pairs)


def _number_rows(task: Task, model: SumRegressor, pool: Features) -> tuple[tuple[str, ...], Rows]:
    """Return the columns for numbers and the ends of their intervals, and a row for each record of the
    pool."""
    numbers = np.column_stack([model.predict(pool), model.predict_interval(pool)])
    return (task.label, *ENDS), (tuple(f"{number:.6g}" for number in row) for row in numbers.tolist())
