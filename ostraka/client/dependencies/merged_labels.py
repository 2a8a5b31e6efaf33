"""The labels of a pool that several runs came to, as one table."""

import csv
import io
from collections.abc import Iterator
from pathlib import Path

from ostraka.client.run.combined import Combined
from ostraka.client.run.labels_file import ABSTAINED, ANSWERED, LABELS_FILE, UNASKED, PoolIds
from ostraka.client.session.answers import label_matrix
from ostraka.common.files.durable import write_atomic

IMPLIED, PARTLY = "implied", "partly"
SEPARATOR = ";"


def write_combined(folder: Path, combined: Combined, ids: PoolIds) -> None:
    """Write labels.csv: for every row of the pool its id, its labels, its status, and which were implied.

    A label is 1, 0, or empty where there is no answer. The status is "implied" where some are 0 because
    their parent is, and "partly" where some were not asked that may be present.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((ids.name, *combined.classes, "status", IMPLIED))
    table.writerows((name, *row) for name, row in zip(ids.values, _rows(combined), strict=True))
    write_atomic(folder / LABELS_FILE, text.getvalue())


def status(combined: Combined, row: int) -> str:
    """Return what became of a query."""
    if row not in combined.answers:
        return UNASKED
    if row in combined.partly:
        return PARTLY
    if combined.answers[row] is None:
        return ABSTAINED
    return IMPLIED if row in combined.implied else ANSWERED


def _rows(combined: Combined) -> Iterator[tuple[object, ...]]:
    rows = range(combined.pool_size)
    labels = label_matrix([combined.answers.get(row) for row in rows], len(combined.classes))
    for row, bits in zip(rows, labels.tolist(), strict=True):
        implied = SEPARATOR.join(combined.classes[label] for label in combined.implied.get(row, ()))
        yield *("" if bit < 0 else bit for bit in bits), status(combined, row), implied
