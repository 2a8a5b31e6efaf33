"""Result of retraining: a student before and after a run."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.common.datasets.frames import html_table
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import METRICS, Metrics, share
from ostraka.common.learning.gain import Gain
from ostraka.common.learning.verdict import doubts, read_gain, tell_gain

STUDENT_FILE = "student.json"
TOLD = {"student", "model", "labelled", "released", "measured_on", "measured", "before", "after"}
"""Required fields of a student's figures: reports use them."""


def read_student(run: Path, pool_sha256: str) -> dict[str, Any] | None:
    """Return the stored figures of a run's student, or None.

    Raises `run.mismatch` if they cannot be read, or are of a student of another pool.
    """
    path = run / STUDENT_FILE
    try:
        student: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        trained_on = student["pool_sha256"]
        missing = TOLD - student.keys()
        if missing:
            raise ValueError(f"missing {', '.join(sorted(missing))}")
        read_gain(student)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as exc:
        raise _stale(path, "cannot be read") from exc
    if trained_on != pool_sha256:
        raise _stale(path, "tells of a student of another pool")
    return student


def _stale(path: Path, problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.RUN_MISMATCH, f"{path} {problem}: run `ostraka query retrain` on this run again."
    )


@dataclass(frozen=True)
class StudentResult:
    """A student before and after a run.

    Attributes:
        student: the kind of student, or of both.
        model: the kind of the saved student's model.
        path: file of the student trained on all labels.
        labelled: number of own labelled records.
        released: number of records that the run labelled, including those that its student labelled.
        pool_sha256: of the labelled pool, "" if there is none.
        measured_on: which records the metrics are of.
        measured: the number of these records.
        before: metrics of the student of own labels alone; None if there are no own labels, or nothing could
            be held back.
        after: metrics of the student of all labels; None if nothing could be held back.
        gain: the improvement, with intervals; None if it was not measured.
        guarantee: the saved student's guarantee for its training records; None except for dp-sgd.
        reading: what was guessed or left out while labelled records were read, one sentence each.
    """

    student: str
    model: str
    path: Path
    labelled: int
    released: int
    pool_sha256: str
    measured_on: str
    measured: int
    before: Metrics | None
    after: Metrics | None
    gain: Gain | None
    guarantee: DpSgdGuarantee | None
    reading: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return a comparison of the student with own data alone and with the most frequent class."""
        if self.gain is None:
            return f"{self.model}, not measured"
        return " ".join((tell_gain(self.gain, self.measured_on), *doubts(self.gain, self.measured_on)))

    def _repr_html_(self) -> str:
        """Return the notebook view: that sentence, and the metrics before and after."""
        records = {"before": self.labelled, "after": self.labelled + self.released}
        measured = {"before": self.before, "after": self.after}
        rows = [
            (name, records[name], *(share(getattr(metrics, metric)) for metric in METRICS))
            for name, metrics in measured.items()
            if metrics is not None
        ]
        return html_table(str(self), ("student", "records", *METRICS.values()), rows)


def as_json(result: StudentResult) -> dict[str, Any]:
    """Return the result as JSON types."""
    return asdict(result) | {"path": str(result.path)}
