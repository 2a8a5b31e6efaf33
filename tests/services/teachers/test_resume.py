import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.task import Task
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers import training as resuming
from ostraka.services.teachers.ensemble import Models
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.training import groups
from tests.services.teachers.conftest import blobs

MODELS = ("mlp", "random_forest")
TEACHERS, GROUP = 5, 2
KILLED = """
import os, signal, sys
from pathlib import Path
from ostraka.common.task import infer_task
from ostraka.services.teachers import TrainingConfig, train, training
from tests.services.teachers.conftest import blobs

training.GROUP = 2

def stop_in_the_last_group(done, total):
    if done / total > 2 / 3:
        os.kill(os.getpid(), signal.SIGKILL)

records = blobs(120)
config = TrainingConfig(teachers=5, model=sys.argv[1], epochs=2)
train(records, infer_task(records, "blobs"), config, seed=3, progress=stop_in_the_last_group,
      unfinished=Path(sys.argv[2]))
"""


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resuming, "GROUP", GROUP)


def config(model: str, **more: object) -> TrainingConfig:
    return TrainingConfig.model_validate({"teachers": TEACHERS, "model": model, "epochs": 2} | more)


class Told:
    """Remembers where a training began."""

    def __init__(self) -> None:
        self.parts: list[float] = []

    def __call__(self, done: int, total: int) -> None:
        self.parts.append(done / total)

    @property
    def groups(self) -> int:
        """How many of the groups were trained."""
        return 4 - math.ceil(3 * min(self.parts) - 1e-9)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("teachers", [1, 2, 3, 48, 49, 250])
def test_groups_cover_all_teachers_in_order_and_are_nearly_equal(teachers: int) -> None:
    found = groups(teachers)
    assert [teacher for group in found for teacher in group] == list(range(teachers))
    sizes = {len(group) for group in found}
    assert max(sizes) <= GROUP
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_a_killed_training_goes_on_and_ends_as_if_it_had_not_been(
    model: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    unfinished = tmp_path / "unfinished"
    killed = subprocess.run([sys.executable, "-c", KILLED, model, str(unfinished)], capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    kept = files(unfinished)
    assert sum(name.endswith("manifest.json") for name in kept) == 2

    told = Told()
    train(records, task, config(model), seed=3, progress=told, unfinished=unfinished).save(tmp_path / "on")
    assert told.groups == 1
    assert kept.items() <= files(unfinished).items()

    whole = train(records, task, config(model), seed=3)
    asked = task.prepare(blobs(300, seed=8).X)
    assert np.array_equal(Ensemble.load(tmp_path / "on").predict(asked), whole.predict(asked))


@pytest.mark.heavy
@pytest.mark.parametrize("model", MODELS)
def test_groups_make_no_difference_to_what_is_saved(
    model: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    train(records, task, config(model), seed=3).save(tmp_path / "at once")
    train(records, task, config(model), seed=3, unfinished=tmp_path / "unfinished").save(tmp_path / "kept")
    kept, once = files(tmp_path / "kept"), files(tmp_path / "at once")
    assert kept.keys() == once.keys()
    if model == "mlp":
        assert kept == once


OTHERS: dict[str, Callable[[Dataset], tuple[Dataset, TrainingConfig, int]]] = {
    "seed": lambda data: (data, config("mlp"), 4),
    "settings": lambda data: (data, config("mlp", held_out=0.2), 3),
    "record": lambda data: (replace(data, X=data.X[np.r_[1, 0, 2:120]]), config("mlp"), 3),
    "label": lambda data: (
        replace(data, y=(data.labels() + np.eye(1, 120, 7, int)[0]) % 3),
        config("mlp"),
        3,
    ),
}


@pytest.mark.parametrize("other", OTHERS)
def test_teachers_of_another_training_are_trained_again(
    other: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    train(records, task, config("mlp"), seed=3, unfinished=tmp_path)
    told = Told()
    data, setting, seed = OTHERS[other](records)
    train(data, task, setting, seed=seed, progress=told, unfinished=tmp_path)
    assert told.groups == 3


@pytest.mark.parametrize("damage", ["weights.safetensors", "manifest.json"])
def test_a_group_that_is_not_whole_is_trained_again(
    damage: str, records: Dataset, task: Task, tmp_path: Path
) -> None:
    train(records, task, config("mlp"), seed=3, unfinished=tmp_path)
    before = files(tmp_path)
    (broken,) = (path for path in tmp_path.glob("0000-*/*") if path.name == damage)
    broken.write_bytes(broken.read_bytes()[:40])
    train(records, task, config("mlp"), seed=3, unfinished=tmp_path)
    assert files(tmp_path) == before


def test_a_group_whose_training_fails_is_not_kept(records: Dataset, task: Task, tmp_path: Path) -> None:
    def fails(*_: object) -> Iterator[Models]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        train(records, task, config("mlp"), seed=3, unfinished=tmp_path, fit_groups=fails)
    assert files(tmp_path) == {}


@pytest.mark.heavy
def test_the_manifest_says_what_was_trained_on_what(records: Dataset, task: Task, tmp_path: Path) -> None:
    setting = config("mlp", held_out=0.2, balanced=True)
    train(records, task, setting, seed=3).save(tmp_path / "teachers")
    manifest = TeachersManifest.load(tmp_path / "teachers")
    assert manifest.config == setting
    assert manifest.slice_sizes == (24,) * TEACHERS
    again = train(records, task, config("logistic_regression"), seed=3).manifest
    assert (again.data_sha256, again.slices_sha256) == (manifest.data_sha256, manifest.slices_sha256)
    moved = train(records, task, config("logistic_regression"), seed=4).manifest
    assert moved.data_sha256 == manifest.data_sha256
    assert moved.slices_sha256 != manifest.slices_sha256
    y = records.labels().copy()
    y[0] = (y[0] + 1) % 3
    other = train(from_arrays(records.X, y), task, config("logistic_regression"), seed=3).manifest
    assert other.data_sha256 != manifest.data_sha256
    assert other.slices_sha256 == manifest.slices_sha256


def test_a_manifest_without_these_is_read(records: Dataset, task: Task, tmp_path: Path) -> None:
    train(records, task, config("mlp"), seed=3).save(tmp_path / "teachers")
    path = tmp_path / "teachers" / "manifest.json"
    values = json.loads(path.read_text())
    for name in ("config", "data_sha256", "slices_sha256", "slice_sizes"):
        del values[name]
    path.write_text(json.dumps(values))
    assert TeachersManifest.load(tmp_path / "teachers").slice_sizes == ()


def test_what_is_kept_is_for_its_owner_alone(records: Dataset, task: Task, tmp_path: Path) -> None:
    train(records, task, config("mlp"), seed=3, unfinished=tmp_path / "unfinished")
    assert {os.stat(folder).st_mode & 0o077 for folder in (tmp_path / "unfinished").iterdir()} == {0}
