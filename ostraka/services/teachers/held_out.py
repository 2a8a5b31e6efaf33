"""Accuracy of a party's teachers on its own records, each by teachers that did not learn from it.

The result stays with the party: it depends on records, and no budget covers it.
"""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from ostraka.common.datasets import Dataset
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.gain import Gain, gain
from ostraka.common.learning.verdict import doubts, tell_gain
from ostraka.common.sharing.ballots import YES
from ostraka.common.task import Task
from ostraka.common.task.persons import Persons
from ostraka.services.teachers.assignment import assign
from ostraka.services.teachers.config import TrainingSection
from ostraka.services.teachers.ensemble import Ensemble

MAX_MEASURED = 2000
"""Maximum number of records to evaluate: with more, an interval would be narrower than a point or two."""
_FILE = "held-out.json"
_RECORDS = "own records that they did not learn from"
_TEACHERS = "the teachers together are"
_GAIN: TypeAdapter[Gain | None] = TypeAdapter(Gain | None)


def measure_held_out(
    ensemble: Ensemble, dataset: Dataset, task: Task, config: TrainingSection
) -> Gain | None:
    """Return the accuracy of each record's plurality among teachers whose slice does not contain it.

    None if there are no such teachers: for a single teacher, for models that were trained elsewhere, and for
    teachers that learned together with other parties', which depend on every record.
    """
    manifest = ensemble.manifest
    if manifest.files or manifest.together:
        return None
    persons = Persons.of(task, dataset)
    assigned = assign(dataset, config, config.seed, None if persons is None else persons.of_record)
    rows = np.random.default_rng(config.seed).permutation(len(dataset))[:MAX_MEASURED]
    votes = ensemble.predict(task.prepare(dataset.X[rows]))
    shares = np.zeros((len(rows), len(task.classes)))
    asked = np.zeros((len(rows), 1))
    for said, learned_from in zip(votes, assigned.slices, strict=True):
        apart = ~np.isin(rows, learned_from)[:, None]
        chosen = said >= YES if task.multi_label else said[:, None] == np.arange(len(task.classes))
        shares += apart & chosen
        asked += apart
    known = asked[:, 0] > 0
    if not known.any():
        return None
    y = _labels_voted_on(dataset.labels()[rows[known]], manifest.abstains)
    return gain(y, shares[known] / asked[known], None, task.classes)


def _labels_voted_on(y: NDArray[np.int64], abstains: tuple[int, ...]) -> NDArray[np.int64]:
    """Return the labels, with those that the teachers do not vote on set to unknown."""
    if not abstains:
        return y
    known = y.copy()
    known[:, list(abstains)] = UNKNOWN
    return known


def write_held_out(found: Gain | None, teachers: Path) -> None:
    """Write the figures into the folder of the teachers, readable by the owner only."""
    path = teachers / _FILE
    path.touch(mode=0o600)
    path.write_bytes(_GAIN.dump_json(found, indent=2) + b"\n")


def read_held_out(teachers: Path) -> Gain | None:
    """Return the figures; None if nothing was measured, or the teachers are of an earlier version."""
    try:
        return _GAIN.validate_json((teachers / _FILE).read_bytes())
    except (OSError, ValidationError):
        return None


def tell_held_out(found: Gain | None, *, balanced: bool) -> list[str]:
    """Return sentences on the teachers' accuracy; empty if nothing was measured."""
    if found is None:
        return []
    doubted = doubts(found, _RECORDS, _TEACHERS)
    lines = [f"{tell_gain(found, _RECORDS, _TEACHERS)} Only this site knows.", *doubted]
    if doubted and not balanced:
        lines.append("Give --balanced to have rare classes weigh as much as frequent ones.")
    return lines
