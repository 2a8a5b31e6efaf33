"""Students before and after, on digits, with the released labels of a run written by hand."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
import skops.io
from rich.console import Console

from ostraka.client.report import tables
from ostraka.client.retraining import retrain
from ostraka.client.run.pool import pool_digest
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.session.run_state import BatchState, RunState, RunStore, load_state
from ostraka.client.students.models import probabilities, train
from ostraka.client.students.predictions import read_beliefs
from ostraka.client.students.student_result import StudentResult, as_json
from ostraka.client.students.trainers import Choice
from ostraka.common.config import SiteConfig, write_site
from ostraka.common.datasets import Dataset, digits, load, save
from ostraka.common.datasets.reading import Reading
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import measure
from ostraka.common.mechanism import Confident
from ostraka.common.plan.plan import Plan
from ostraka.common.task import infer_task, write_task

POOL = 300
SKIPPED = 20


@dataclass(frozen=True)
class Bench:
    """A querying site with 60 own records, a pool labelled but for its first 20, and test records."""

    site: Path
    own: Path
    pool: Path
    test: Path
    run: Path

    def retrain(self, **more: object) -> StudentResult:
        call: Callable[..., StudentResult] = retrain
        return call(self.site, self.own, self.run, self.pool, **more)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    data = digits()
    order = np.random.default_rng(0).permutation(len(data))
    parts = np.split(order[:1000], [60, 60 + POOL])
    own, pool, test = (data.take(part) for part in parts)
    bench = Bench(*(tmp_path / name for name in ("query", "own.npz", "pool.npz", "test.npz", "run")))
    bench.site.mkdir()
    bench.run.mkdir()
    write_site(SiteConfig(federation="f", site="q", role="query", guardian="127.0.0.1:1", folder=bench.site))
    task = infer_task(data, "digits")
    write_task(task, bench.site / "task.toml")
    save(own, bench.own)
    save(Dataset(pool.columns, pool.X, None, pool.classes, pool.shape), bench.pool)
    save(test, bench.test)
    plan = Plan(
        nonce=bytes(16),
        task_digest=task.digest,
        classes=10,
        mechanism=Confident(sigma1=10.0, sigma2=5.0, threshold=25.0),
        parties=("a", "b"),
        quorum=2,
        queries=POOL,
        batch_size=POOL,
    )
    labels = [None] * SKIPPED + [int(label) for label in pool.labels()[SKIPPED:]]
    RunStore.create(
        bench.run,
        RunState(
            task=task.name,
            classes=task.classes,
            pool_sha256=pool_digest(task.prepare(pool.X)),
            pool_size=POOL,
            plan=plan.serialize().hex(),
            batches=(BatchState(id=1, queries=tuple(range(POOL)), status="released", answers=tuple(labels)),),
        ),
    )
    return bench


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["logistic_regression", "mlp"])
def test_released_labels_make_the_student_better(bench: Bench, model: str) -> None:
    result = bench.retrain(test=bench.test, choice=Choice(model=model))
    assert (result.labelled, result.released, result.measured) == (60, POOL - SKIPPED, 640)
    assert result.measured_on == "test records"
    assert result.before is not None
    assert result.after is not None
    assert result.after.accuracy > result.before.accuracy + 0.03
    assert result.after.balanced_accuracy > 0.85


@pytest.mark.heavy
def test_the_saved_student_is_the_one_measured(bench: Bench) -> None:
    result = bench.retrain(test=bench.test)
    student = skops.io.load(result.path, trusted=[])
    data = np.load(bench.test)
    X = data["X"].reshape(len(data["X"]), -1).astype(np.float32) / 16
    assert result.path == bench.run / "student.skops"
    assert result.after == measure(data["y"], probabilities(student, X, 10), [str(i) for i in range(10)])


def test_it_says_how_labelled_records_were_read(bench: Bench) -> None:
    own = replace(load(bench.own), reading=Reading(left_out=("2 rows without a class",)))
    result = retrain(bench.site, own, out=bench.run / "own.skops", choice=Choice(student="supervised"))
    assert result.reading == ("Own records: Left out: 2 rows without a class.",)
    console = Console(width=200)
    with console.capture() as shown:
        console.print(tables.student(as_json(result)))
    assert result.reading[0] in shown.get()


@pytest.mark.heavy
def test_the_result_is_kept_in_the_run(bench: Bench, tmp_path: Path) -> None:
    elsewhere = tmp_path / "models" / "mine.skops"
    bench.retrain(test=bench.test, out=elsewhere)
    stored = json.loads((bench.run / "student.json").read_text())
    assert elsewhere.is_file()
    assert stored["path"] == str(elsewhere)
    assert set(stored["before"]) == {"accuracy", "balanced_accuracy", "auc", "map", "labels"}
    assert sum(label["support"] for label in stored["after"]["labels"]) == 640


@pytest.mark.heavy
def test_without_test_records_own_ones_are_held_back_in_turn(bench: Bench) -> None:
    result = bench.retrain()
    assert (result.measured_on, result.measured) == ("cross-validation on own records", 60)
    assert result.before is not None
    assert result.after is not None
    assert result.after.accuracy > result.before.accuracy


@pytest.mark.heavy
def test_too_few_records_to_hold_any_back_are_not_measured(bench: Bench) -> None:
    own = digits().take(np.arange(3))
    save(own, bench.own)
    result = bench.retrain()
    assert (result.before, result.after) == (None, None)


@pytest.mark.heavy
def test_the_same_seed_trains_the_same_student(bench: Bench) -> None:
    first, second = (bench.retrain(test=bench.test, choice=Choice(model="mlp"), seed=3) for _ in range(2))
    assert first == second


def test_another_pool_than_the_runs_is_refused(bench: Bench) -> None:
    with pytest.raises(OstrakaError) as refused:
        retrain(bench.site, bench.own, bench.run, bench.test)
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_own_records_need_labels(bench: Bench) -> None:
    with pytest.raises(OstrakaError) as refused:
        retrain(bench.site, bench.pool, bench.run, bench.pool)
    assert refused.value.code is ErrorCode.DATA_MISSING


def of_one_class(bench: Bench) -> None:
    data = digits()
    save(data.take(np.flatnonzero(data.labels() == 4)[:9]), bench.own)


def test_one_class_trains_no_student(bench: Bench) -> None:
    of_one_class(bench)
    with pytest.raises(OstrakaError) as refused:
        retrain(bench.site, bench.own, out=bench.run / "student.skops")
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.heavy
def test_released_labels_add_to_own_ones_of_one_class(bench: Bench) -> None:
    of_one_class(bench)
    result = bench.retrain(test=bench.test)
    assert result.before is not None
    assert result.after is not None
    assert result.before.balanced_accuracy == pytest.approx(0.1)
    assert result.after.balanced_accuracy > 0.5


def test_a_run_that_is_not_there_is_named(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(OstrakaError) as refused:
        retrain(bench.site, bench.own, tmp_path / "none", bench.pool)
    assert refused.value.code is ErrorCode.DATA_MISSING
    assert not (tmp_path / "none").exists()


def test_an_unknown_model_is_refused(bench: Bench) -> None:
    with pytest.raises(OstrakaError, match="no student model oracle") as refused:
        bench.retrain(choice=Choice(model="oracle"))
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_another_task_than_the_runs_is_refused(bench: Bench) -> None:
    task = bench.site / "task.toml"
    text = task.read_text()
    task.write_text(text.replace('preprocessing = "range"', 'preprocessing = "none"'))
    assert task.read_text() != text
    with pytest.raises(OstrakaError) as refused:
        bench.retrain()
    assert refused.value.code is ErrorCode.RUN_MISMATCH


@pytest.mark.parametrize("kind", ["logistic_regression", "mlp"])
def test_features_on_their_own_scales_are_standardized(kind: str) -> None:
    rng = np.random.default_rng(1)
    y = np.arange(200) % 2
    X = np.stack([1e-4 * (y + 0.1 * rng.normal(size=200)), 1e4 * rng.normal(size=200)], axis=1)
    student = train(kind, X.astype(np.float32), y, standardize=True)
    assert measure(y, probabilities(student, X.astype(np.float32), 2), ("no", "yes")).accuracy > 0.95


@pytest.mark.heavy
def test_without_a_run_own_labels_alone_are_learned(bench: Bench, tmp_path: Path) -> None:
    path = tmp_path / "first.skops"
    result = retrain(bench.site, bench.own, test=bench.test, out=path)
    assert (result.labelled, result.released, result.path) == (60, 0, path)
    assert result.before == result.after
    assert read_beliefs(path, np.zeros((1, 64), np.float32), 10).scores.shape == (1, 10)


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ({"pool": None}, "needs its pool"),
        ({"run_folder": None}, "as --out"),
        ({"pool": None, "run_folder": None}, "as --out"),
    ],
)
def test_a_run_needs_its_pool_and_no_run_a_file_to_save_to(
    bench: Bench, missing: dict[str, None], told: str
) -> None:
    given: dict[str, Path | None] = {"run_folder": bench.run, "pool": bench.pool} | missing
    with pytest.raises(OstrakaError, match=told) as refused:
        retrain(bench.site, bench.own, given["run_folder"], given["pool"], test=bench.test)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_balanced_accuracy_is_the_mean_over_classes_that_occur() -> None:
    metrics = measure(np.array([0, 0, 0, 1]), np.eye(3)[[0, 0, 2, 1]], ("ant", "bee", "cat"))
    assert metrics.accuracy == 0.75
    assert metrics.balanced_accuracy == pytest.approx((2 / 3 + 1) / 2)


def rewritten(bench: Bench, **batch: object) -> None:
    """Change the one batch of the run."""
    state = load_state(bench.run)
    RunStore.create(
        bench.run, state.model_copy(update={"batches": (state.batches[0].model_copy(update=batch),)})
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def one_class(bench: Bench) -> None:
    data = digits()
    save(data.take(np.flatnonzero(data.labels() == 4)[:9]), bench.own)
    rewritten(bench, answers=(4,) * POOL)


def smaller(bench: Bench) -> None:
    data = digits()
    save(data.take(np.arange(POOL - 1)), bench.pool)


TROUBLES: dict[str, tuple[Callable[[Bench], None], ErrorCode, str]] = {
    "no released labels": (
        lambda bench: rewritten(bench, answers=(None,) * POOL),
        ErrorCode.DATA_TOO_FEW,
        "released no label to learn from",
    ),
    "one class only": (one_class, ErrorCode.DATA_TOO_FEW, "at least two classes"),
    "unknown query ids": (
        lambda bench: rewritten(bench, queries=tuple(range(1, POOL + 1))),
        ErrorCode.RUN_MISMATCH,
        "queries that its pool does not have",
    ),
    "unknown class": (
        lambda bench: rewritten(bench, answers=(11,) * POOL),
        ErrorCode.RUN_MISMATCH,
        "labels that its task does not have",
    ),
    "a smaller pool": (
        smaller,
        ErrorCode.RUN_MISMATCH,
        f"a pool of {POOL} records and this one has {POOL - 1}",
    ),
}


@pytest.mark.heavy
@pytest.mark.parametrize("student", ["supervised", "fixmatch"])
@pytest.mark.parametrize("trouble", TROUBLES)
def test_trouble_is_told_and_leaves_the_run_as_it_was(bench: Bench, trouble: str, student: str) -> None:
    bench.retrain(test=bench.test)
    spoil, code, said = TROUBLES[trouble]
    spoil(bench)
    before = contents(bench.run)
    with pytest.raises(OstrakaError, match=said) as refused:
        bench.retrain(test=bench.test, choice=Choice(student))
    assert refused.value.code is code
    assert contents(bench.run) == before
    assert before.keys() == {"session.json", "session.lock", "student.json", "student.skops"}


def test_a_run_that_another_process_holds_is_not_learned_from(bench: Bench) -> None:
    with hold_folder(bench.run):
        before = contents(bench.run)
        with pytest.raises(OstrakaError, match="Another process uses") as refused:
            bench.retrain(test=bench.test)
    assert refused.value.code is ErrorCode.RUN_MISMATCH
    assert contents(bench.run) == before


@pytest.mark.heavy
def test_without_own_labels_released_ones_alone_are_learned(bench: Bench) -> None:
    result = retrain(bench.site, None, bench.run, bench.pool, test=bench.test)
    assert (result.labelled, result.released, result.before) == (0, POOL - SKIPPED, None)
    assert result.after is not None
    assert result.after.accuracy > 0.8
    unmeasured = retrain(bench.site, None, bench.run, bench.pool)
    assert (unmeasured.after, unmeasured.measured) == (None, 0)


def test_nothing_to_learn_from_is_refused(bench: Bench, tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="no labels to learn from") as refused:
        retrain(bench.site, None, out=tmp_path / "none.skops")
    assert refused.value.code is ErrorCode.CONFIG_INVALID
