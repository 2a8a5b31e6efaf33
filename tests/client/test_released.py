"""What students get from runs of every kind: labels by row of the pool, and how often these are wrong."""

from pathlib import Path

import numpy as np
import pytest

from ostraka.client.retraining import read_released, retrain
from ostraka.client.run.pool import pool_digest
from ostraka.client.session.run_state import BatchState, GrantedParty, RunState, RunStore
from ostraka.client.students.label_dp.denoise_ssl import DenoiseSsl
from ostraka.client.students.trainers import Choice
from ostraka.common.datasets import Dataset, digits, save
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.data import Labelled
from ostraka.common.mechanism import Mechanism, NoiseCluster, RandRes
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task, load_task
from tests.client.dependencies.clinic import ask
from tests.client.driving import run_of
from tests.client.federation import Federation
from tests.client.test_retraining import Bench, bench

__all__ = ["bench"]


def labelled(
    bench: Bench, task: Task, mechanism: Mechanism, answers: list[int], clusters: tuple[int, ...] = ()
) -> None:
    """Replace the run by one under label-DP; `clusters` are those of the pool's records."""
    features = task.prepare(task.load(bench.pool).X)
    plan = Plan(
        nonce=bytes(16),
        task_digest=task.digest,
        classes=10,
        mechanism=mechanism,
        parties=("a", "b"),
        quorum=2,
        queries=len(answers),
        batch_size=len(answers),
        adjacency="label",
    )
    batch = BatchState(id=1, queries=tuple(range(len(answers))), status="released", answers=tuple(answers))
    state = RunState(
        task=task.name,
        classes=task.classes,
        pool_sha256=pool_digest(features),
        pool_size=len(features),
        plan=plan.serialize().hex(),
        clusters=clusters,
        parties=(GrantedParty(site="a", teachers=1, max_votes_per_person=1),),
        batches=(batch,),
    )
    RunStore.create(bench.run, state)


@pytest.fixture
def task(bench: Bench) -> Task:
    return load_task(bench.site / "task.toml")


def truth(bench: Bench, task: Task) -> np.ndarray:
    """Return the classes of the pool's records, which its file does not hold."""
    data, pool = digits(), task.load(bench.pool)
    known = {row.tobytes(): label for row, label in zip(data.X, data.labels().tolist(), strict=True)}
    return np.array([known[row.tobytes()] for row in pool.X])


def test_a_cluster_labels_all_its_records(bench: Bench, task: Task) -> None:
    clusters = truth(bench, task) // 2
    labelled(bench, task, NoiseCluster(sigma=3.0), [0, 2, 4, 6, 8], tuple(clusters.tolist()))
    released = read_released(task, bench.run, bench.pool)
    np.testing.assert_array_equal(released.y[np.argsort(released.rows)], 2 * clusters)
    assert (released.error == 0).all()


@pytest.mark.heavy
def test_a_student_that_doubts_labels_trusts_own_ones_alone(
    bench: Bench, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    clusters = truth(bench, task) // 2
    labelled(bench, task, NoiseCluster(sigma=3.0), [0, 2, 4, 6, 8], tuple(clusters.tolist()))
    seen: list[Labelled] = []

    class Watched(DenoiseSsl):
        def learn_from(self, labelled: Labelled, *rest: object, **more: object) -> "Watched":
            seen.append(labelled)
            return super().learn_from(labelled, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("ostraka.client.students.label_dp.denoise_ssl.DenoiseSsl", Watched)
    choice = Choice("denoise-ssl", steps=1, device="cpu")
    retrain(bench.site, bench.own, bench.run, bench.pool, test=bench.test, choice=choice)
    error = seen[0].error
    assert error is not None
    assert (error[:-300] == 0).all()
    assert (error[-300:] > 0).all()


@pytest.mark.heavy
@pytest.mark.parametrize("student", ["ldp-normal", "ldp-ssl", "denoise-ssl", "aug-descent"])
def test_students_of_noisy_labels_need_no_others(bench: Bench, task: Task, student: str) -> None:
    noisy, rng = truth(bench, task), np.random.default_rng(0)
    noisy = np.where(rng.random(len(noisy)) < 0.8, noisy, rng.integers(10, size=len(noisy)))
    labelled(bench, task, RandRes(epsilon=4.0), noisy.tolist())
    released = read_released(task, bench.run, bench.pool)
    assert released.error == pytest.approx(1 - RandRes(epsilon=4.0).truth(10))
    clusters = {"clusters": 20, "clusterer": "kmeans"} if student == "denoise-ssl" else {}
    choice = Choice(student, steps=60, device="cpu", **clusters)  # type: ignore[arg-type]
    result = retrain(bench.site, None, bench.run, bench.pool, test=bench.test, choice=choice)
    assert (result.before, result.labelled, result.released) == (None, 0, len(noisy))
    assert result.after is not None
    assert result.after.accuracy > 0.5
    assert result.path == bench.run / "student.safetensors"


def test_labels_that_dependencies_part_are_learned_together(several: Federation, tmp_path: Path) -> None:
    ask(several, queries=6)
    task = load_task(several.site / "task.toml")
    released = read_released(task, run_of(several), several.pool)
    np.testing.assert_array_equal(released.rows, range(6))
    np.testing.assert_array_equal(released.y, np.tile(np.tri(3, dtype=int), (2, 1)))
    assert released.error.shape == (6, 3)
    assert len(released.unlabeled) == 4
    assert not released.independent
    result = retrain(several.site, None, run_of(several), several.pool)
    assert result.released == 6


def test_labels_without_an_answer_are_unknown(several: Federation) -> None:
    several.parties["b"].dissents = True
    ask(several, queries=6)
    released = read_released(load_task(several.site / "task.toml"), run_of(several), several.pool)
    assert (released.y == UNKNOWN).any()


def test_a_pool_may_be_in_another_kind_of_file(bench: Bench, task: Task) -> None:
    before = read_released(task, bench.run, bench.pool)
    assert before.independent
    data = task.load(bench.pool)
    save(Dataset(data.columns, data.X, np.zeros(len(data), np.int64), task.classes, data.shape), bench.pool)
    np.testing.assert_array_equal(read_released(task, bench.run, bench.pool).rows, before.rows)
