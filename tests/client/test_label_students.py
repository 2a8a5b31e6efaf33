"""Students of several labels: each label is learned where it is known."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.retraining import retrain
from ostraka.client.run.pool import pool_digest
from ostraka.client.session.answers import Answer
from ostraka.client.session.run_state import BatchState, GrantedParty, RunState, RunStore
from ostraka.client.students.models import probabilities, train
from ostraka.client.students.student_result import as_json
from ostraka.client.students.trainers import Choice
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import from_arrays, save
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators import skops_files
from ostraka.common.learning.accuracy import measure
from ostraka.common.mechanism import Binary
from ostraka.common.plan.plan import Plan
from ostraka.common.task import infer_task, write_task

RNG = np.random.default_rng(5)
X = RNG.random((400, 3)).astype(np.float32)
Y = (X > 0.5).astype(np.int64)
NAMES = ("low", "mid", "top")


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["logistic_regression", "mlp"])
@pytest.mark.parametrize("standardize", [False, True])
def test_every_label_is_learned_from_the_records_where_it_is_known(kind: str, standardize: bool) -> None:
    y = np.where(RNG.random(Y.shape) < 0.5, Y, UNKNOWN)
    metrics = measure(Y, probabilities(train(kind, X, y, standardize=standardize), X, 3), NAMES)
    assert metrics.accuracy > 0.9
    assert metrics.balanced_accuracy > 0.9


def test_a_label_that_never_differs_is_constant_and_an_unknown_one_is_negative() -> None:
    y = np.stack([Y[:, 0], np.ones(400), np.full(400, UNKNOWN)], axis=1).astype(np.int64)
    given = probabilities(train("logistic_regression", X, y, standardize=False), X[:5], 3)
    np.testing.assert_array_equal(given[:, 1:], np.tile([1.0, 0.0], (5, 1)))


def test_nothing_to_tell_apart_trains_no_student() -> None:
    with pytest.raises(OstrakaError) as refused:
        train("logistic_regression", X, np.ones_like(Y), standardize=False)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.heavy
def test_a_saved_student_is_the_same_when_it_is_loaded() -> None:
    student = train("mlp", X, Y, standardize=True)
    loaded = skops_files.loads(skops_files.dumps(student))
    np.testing.assert_array_equal(probabilities(loaded, X, 3), probabilities(student, X, 3))


def test_metrics_are_means_over_labels() -> None:
    y = np.array([[0, 1], [0, 1], [1, 1], [1, 1]])
    given = np.array([[0.1, 0.9], [0.6, 0.9], [0.5, 0.9], [0.9, 0.2]])
    metrics = measure(y, given, ("low", "top"))
    assert metrics.accuracy == 0.75
    assert metrics.balanced_accuracy == 0.75
    assert metrics.auc == 0.75
    assert metrics.map == pytest.approx((1 + 2 / 3) / 2)


def test_labels_that_all_records_share_have_no_ranking() -> None:
    metrics = measure(np.ones((3, 2), np.int64), np.ones((3, 2)), ("low", "top"))
    assert (metrics.auc, metrics.map) == (None, None)
    assert [(label.support, label.auc) for label in metrics.labels] == [(3, None)] * 2


def cubes(tmp_path: Path) -> None:
    """Write a site with 15 own records, a run that labelled a pool of 200, and test records."""
    site, run = tmp_path / "query", tmp_path / "run"
    site.mkdir()
    run.mkdir()
    write_site(SiteConfig(federation="f", site="q", role="query", guardian="127.0.0.1:1", folder=site))
    data = from_arrays(X, Y, classes=("low", "mid", "top"))
    task = infer_task(data, "cubes")
    write_task(task, site / "task.toml")
    own, pool, test = np.split(np.arange(400), [15, 215])
    for name, rows in (("own", own), ("test", test)):
        save(data.take(rows), tmp_path / f"{name}.npz")
    save(replace(data.take(pool), y=None), tmp_path / "pool.npz")
    store_run(run, task.prepare(X[pool]), task.digest, Y[pool])


@pytest.mark.heavy
@pytest.mark.parametrize("student", ["supervised", "vat", "mixmatch", "fixmatch"])
def test_networks_learn_labels_with_gaps(tmp_path: Path, student: str) -> None:
    cubes(tmp_path)
    choice = Choice(student, model="network", steps=100, device="cpu", smoothing=True)
    files = {name: tmp_path / f"{name}.npz" for name in ("own", "pool", "test")}
    result = retrain(
        tmp_path / "query", files["own"], tmp_path / "run", files["pool"], test=files["test"], choice=choice
    )
    assert result.after is not None
    assert result.before is not None
    assert result.after.balanced_accuracy > 0.8
    assert [label.name for label in result.after.labels] == ["low", "mid", "top"]


@pytest.mark.heavy
def test_released_labels_with_gaps_make_the_student_better(tmp_path: Path) -> None:
    cubes(tmp_path)
    site, run = tmp_path / "query", tmp_path / "run"
    result = retrain(site, tmp_path / "own.npz", run, tmp_path / "pool.npz", test=tmp_path / "test.npz")
    assert (result.labelled, result.released) == (15, 190)
    assert result.before is not None
    assert result.after is not None
    assert result.after.accuracy > result.before.accuracy + 0.02
    stored = json.loads((run / "student.json").read_text())
    assert [label["name"] for label in stored["after"]["labels"]] == ["low", "mid", "top"]
    assert stored["after"]["map"] == pytest.approx(
        np.mean([label["average_precision"] for label in stored["after"]["labels"]])
    )
    held_back = retrain(site, tmp_path / "own.npz", run, tmp_path / "pool.npz")
    assert held_back.after is not None
    console = Console(width=120, file=StringIO())
    with console.capture() as shown:
        console.print(tables.student(as_json(result)))
    assert "average precision" in shown.get()


def store_run(run: Path, features: np.ndarray, digest: bytes, truth: np.ndarray) -> None:
    """Write a run that answered all labels but one in three, and none of every twentieth query."""
    size = len(truth)
    plan = Plan(
        nonce=bytes(16),
        task_digest=digest,
        classes=3,
        multi_label=True,
        mechanism=Binary(sigma=5.0),
        parties=("a", "b"),
        quorum=2,
        queries=size,
        batch_size=size,
    )
    answers: list[Answer] = [
        tuple(None if (row + label) % 3 == 0 else int(bit) for label, bit in enumerate(bits))
        for row, bits in enumerate(truth)
    ]
    answers[::20] = [None] * len(answers[::20])
    state = RunState(
        task="cubes",
        classes=("low", "mid", "top"),
        pool_sha256=pool_digest(features),
        pool_size=size,
        plan=plan.serialize().hex(),
        parties=tuple(GrantedParty(site=site, teachers=25, max_votes_per_person=1) for site in plan.parties),
        batches=(BatchState(id=1, queries=tuple(range(size)), status="released", answers=tuple(answers)),),
    )
    RunStore.create(run, state)
