"""Figures of teachers on records that they did not learn from, against the same counted by hand."""

from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import from_arrays
from ostraka.common.task import infer_task
from ostraka.services.teachers import Ensemble, train
from ostraka.services.teachers.assignment import slices
from ostraka.services.teachers.config import TrainingSection
from ostraka.services.teachers.held_out import (
    tell_held_out,
    measure_held_out,
    read_held_out,
    write_held_out,
)

RNG = np.random.default_rng(3)
Y = (np.arange(90) % 3 == 0).astype(np.int64)
DATA = from_arrays(RNG.normal(size=(90, 2)) + Y[:, None], Y, classes=("no", "yes"))
TASK = infer_task(DATA, "t")


def trained(teachers: int) -> tuple[Ensemble, TrainingSection]:
    config = TrainingSection(teachers=teachers, model="logistic_regression", seed=2)
    return train(DATA, TASK, config, seed=2), config


def test_each_record_is_asked_of_teachers_that_did_not_learn_from_it(tmp_path: Path) -> None:
    ensemble, config = trained(3)
    found = measure_held_out(ensemble, DATA, TASK, config)
    votes = ensemble.predict(TASK.prepare(DATA.X))
    others = np.array([[row not in part for row in range(90)] for part in slices(90, 3, 2)])
    yes, no = ((others & (votes == label)).sum(axis=0) for label in (1, 0))
    assert found is not None
    assert found.records == 90
    assert found.accuracy.estimate == pytest.approx(np.mean((yes > no) == (Y == 1)))
    assert found.majority == pytest.approx(2 / 3)
    assert found.most_frequent == "no"
    (tmp_path / "teachers").mkdir()
    write_held_out(found, tmp_path / "teachers")
    assert read_held_out(tmp_path / "teachers") == found
    assert (tmp_path / "teachers" / "held-out.json").stat().st_mode & 0o077 == 0


def test_one_teacher_has_seen_everything(tmp_path: Path) -> None:
    ensemble, config = trained(1)
    assert measure_held_out(ensemble, DATA, TASK, config) is None
    write_held_out(None, tmp_path)
    assert read_held_out(tmp_path) is None
    assert tell_held_out(None, balanced=False) == []


def test_teachers_that_say_one_class_are_told_of_weights() -> None:
    lone = from_arrays(np.zeros((90, 2)), Y, classes=("no", "yes"))
    config = TrainingSection(teachers=3, model="logistic_regression", seed=2)
    task = infer_task(lone, "t")
    found = measure_held_out(train(lone, task, config, seed=2), lone, task, config)
    lines = tell_held_out(found, balanced=False)
    assert lines[0].startswith("The teachers together are right on 66.7%")
    assert lines[1] == "The teachers together are no better than always saying 'no', the most frequent class."
    assert "--balanced" in lines[2]
    assert len(tell_held_out(found, balanced=True)) == 2
