from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning import loop
from ostraka.common.task import Task, infer_task
from ostraka.services.admission.manifest_terms import declaration
from ostraka.services.teachers import Ensemble, TrainingConfig, semi_supervised, train
from ostraka.services.teachers import training as resuming
from ostraka.services.teachers.manifest import TeachersManifest
from tests.services.teachers.conftest import blobs

FEW = TrainingConfig(teachers=4, model="mlp", epochs=30)


@pytest.fixture
def task() -> Task:
    return infer_task(blobs(120), "blobs", *(blobs(200, seed=seed) for seed in (3, 4, 8)))


@pytest.fixture
def shared() -> Dataset:
    return replace(blobs(200, seed=3), y=None)


@pytest.mark.heavy
def test_teachers_learn_from_features_that_all_know(task: Task, shared: Dataset) -> None:
    few, test = blobs(90), blobs(150, seed=8)
    ensemble = train(few, task, FEW, seed=0, shared=shared)
    accuracy = (ensemble.predict(task.prepare(test.X)) == test.labels()).mean(axis=1)
    assert accuracy.min() > 0.9


@pytest.mark.heavy
def test_few_labels_of_images_go_further_with_shared_features() -> None:
    digits = load_digits()
    X, y = digits.images / 16, digits.target
    own, test = from_arrays(X[:120], y[:120]), from_arrays(X[1500:], y[1500:])
    shared = replace(from_arrays(X[:500], y[:500]), y=None)
    task = infer_task(from_arrays(X, y), "digits")
    config = TrainingConfig(teachers=2, model="mlp")

    def accuracy(known: Dataset | None) -> float:
        votes = train(own, task, config, seed=0, shared=known).predict(task.prepare(test.X))
        return float((votes == test.labels()).mean())

    assert accuracy(shared) > accuracy(None) + 0.02


@pytest.mark.heavy
def test_the_manifest_says_so_and_the_guardian_is_told(task: Task, records: Dataset, shared: Dataset) -> None:
    alone = train(records, task, FEW, seed=0).manifest
    manifest = train(records, task, FEW, seed=0, shared=shared).manifest
    assert (alone.shared_features, alone.shared_sha256) == (False, "")
    assert manifest.shared_features
    assert len(manifest.shared_sha256) == 64
    assert declaration(manifest, "site", 1).shared_features
    assert not declaration(alone, "site", 1).shared_features


def _votes(ensemble: Ensemble, task: Task) -> NDArray[Any]:
    return ensemble.predict(task.prepare(blobs(40, seed=8).X))


def _weights(ensemble: Ensemble, folder: Path) -> bytes:
    ensemble.save(folder)
    return (folder / "weights.safetensors").read_bytes()


@pytest.mark.heavy
def test_one_changed_label_changes_one_teacher(task: Task, records: Dataset, shared: Dataset) -> None:
    changed = replace(records, y=np.where(np.arange(120) == 7, (records.labels() + 1) % 3, records.labels()))
    nets, others = (_networks(data, task, shared) for data in (records, changed))
    differ = [
        any(not a.equal(b) for a, b in zip(net.parameters(), other.parameters(), strict=True))
        for net, other in zip(nets, others, strict=True)
    ]
    assert sum(differ) == 1


def _networks(data: Dataset, task: Task, shared: Dataset) -> list[Any]:
    ensemble: Any = train(data, task, FEW, seed=0, shared=shared)
    return list(ensemble.models.nets)


@pytest.mark.heavy
def test_a_saved_ensemble_votes_the_same(
    tmp_path: Path, task: Task, records: Dataset, shared: Dataset
) -> None:
    ensemble = train(records, task, FEW, seed=0, shared=shared)
    ensemble.save(tmp_path / "teachers")
    np.testing.assert_array_equal(_votes(Ensemble.load(tmp_path / "teachers"), task), _votes(ensemble, task))


@pytest.mark.heavy
def test_a_killed_training_goes_on_after_the_last_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, task: Task, records: Dataset, shared: Dataset
) -> None:
    monkeypatch.setattr(resuming, "GROUP", 2)
    expected = _weights(train(records, task, FEW, seed=0, shared=shared), tmp_path / "expected")
    told = _stopping(lambda share: share > 0.6)
    with pytest.raises(KeyboardInterrupt):
        train(records, task, FEW, seed=0, shared=shared, unfinished=tmp_path / "unfinished", progress=told)
    shares: list[float] = []
    resumed = train(
        records,
        task,
        FEW,
        seed=0,
        shared=shared,
        unfinished=tmp_path / "unfinished",
        progress=lambda done, total: shares.append(done / total),
    )
    assert _weights(resumed, tmp_path / "resumed") == expected
    assert min(shares) >= 0.5
    assert shares[-1] == 1


def _stopping(when: Callable[[float], bool]) -> Callable[[int, int], None]:
    def told(done: int, total: int) -> None:
        if when(done / total):
            raise KeyboardInterrupt

    return told


@pytest.mark.heavy
def test_groups_of_other_shared_features_are_trained_again(
    tmp_path: Path, task: Task, records: Dataset, shared: Dataset
) -> None:
    train(records, task, FEW, seed=0, shared=shared, unfinished=tmp_path)
    other = replace(blobs(200, seed=4), y=None)
    expected = train(records, task, FEW, seed=0, shared=other)
    found = train(records, task, FEW, seed=0, shared=other, unfinished=tmp_path)
    assert _weights(found, tmp_path / "a") == _weights(expected, tmp_path / "b")


@pytest.mark.heavy
def test_a_teacher_whose_losses_are_no_numbers_votes_for_a_fixed_class(
    monkeypatch: pytest.MonkeyPatch, task: Task, records: Dataset, shared: Dataset
) -> None:
    sane = loop.learn
    calls: list[int] = []

    def learn(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OstrakaError(ErrorCode.MODEL_DIVERGED, "no number")
        return sane(*args, **options)

    monkeypatch.setattr(semi_supervised, "threads", lambda: 1)
    monkeypatch.setattr(semi_supervised, "learn", learn)
    votes = _votes(train(records, task, FEW, seed=0, shared=shared), task)
    assert (votes[0] == 0).all()
    assert len(np.unique(votes[1])) == 3


@pytest.mark.parametrize(
    "config",
    [
        TrainingConfig(teachers=2, model="random_forest"),
        TrainingConfig(teachers=2, model="mlp", held_out=0.2),
        TrainingConfig(teachers=2, model="mlp", balanced=True),
    ],
)
def test_what_fixmatch_has_no_use_for_is_refused(
    task: Task, records: Dataset, shared: Dataset, config: TrainingConfig
) -> None:
    with pytest.raises(OstrakaError, match="shared_features") as raised:
        train(records, task, config, seed=0, shared=shared)
    assert raised.value.code is ErrorCode.CONFIG_INVALID


def test_shared_features_of_another_task_are_refused(task: Task, records: Dataset) -> None:
    other = replace(blobs(50, shape=(5,)), y=None)
    with pytest.raises(OstrakaError):
        train(records, task, FEW, seed=0, shared=other)


def test_manifests_of_before_have_none() -> None:
    fields = TeachersManifest.model_fields
    assert not fields["shared_features"].default
    assert not fields["shared_sha256"].default
