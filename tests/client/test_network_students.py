"""Networks as students: they learn from the whole pool, are kept whole, and fail without a trace."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from ostraka.client.cli.query import app
from ostraka.client.retraining import retrain
from ostraka.client.students.files import load_student
from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.label_dp.learners import LdpNormal
from ostraka.client.students.models import probabilities
from ostraka.client.students.predictions import read_beliefs
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import VALIDATION, Choice
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Learning
from tests.client.test_retraining import POOL, SKIPPED, Bench, bench

__all__ = ["bench"]


def contents(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def trained(bench: Bench, **more: object) -> StudentResult:
    given = {"student": "fixmatch", "steps": 10, "device": "cpu"} | more
    return bench.retrain(test=bench.test, choice=Choice(**given))  # type: ignore[arg-type]


@pytest.mark.heavy
@pytest.mark.parametrize("student", ["supervised", "fixmatch"])
def test_a_network_learns_from_released_labels_and_the_rest_of_the_pool(bench: Bench, student: str) -> None:
    result = trained(bench, student=student, model="network", steps=100)
    assert (result.student, result.model, result.released) == (student, "network", POOL - SKIPPED)
    assert result.path == bench.run / "student.safetensors"
    assert result.before is not None
    assert result.after is not None
    assert result.after.accuracy > result.before.accuracy + 0.03
    assert len(result.after.labels) == 10


@pytest.mark.heavy
@pytest.mark.parametrize("first", ["supervised", "fixmatch"])
def test_a_second_student_learns_what_the_first_says_of_the_whole_pool(
    bench: Bench, first: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Labelled] = []
    learn = LdpNormal.learn_from

    def look(self: LdpNormal, labelled: Labelled, unlabeled: NDArray[np.float32], *more: object) -> LdpNormal:
        seen.append(labelled)
        assert len(unlabeled) == 0, "no record of the pool is left without a label"
        return learn(self, labelled, unlabeled, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(LdpNormal, "learn_from", look)
    monkeypatch.setattr(LdpNormal, "default_learning", replace(LdpNormal.default_learning, steps=10))
    steps = None if first == "supervised" else 10
    result = trained(bench, student=first, second="ldp-normal", steps=steps)
    (given,) = seen
    own = 60 - 60 // VALIDATION
    assert (len(given), result.released) == (own + POOL, POOL - SKIPPED)
    assert (result.student, result.model) == (f"{first} and ldp-normal", "network")
    assert result.path == bench.run / "student.safetensors"
    first_alone = bench.retrain(
        test=bench.test, choice=Choice(first, steps=steps, device="cpu"), out=bench.run / "first"
    )
    assert first_alone.after is not None
    X = np.load(bench.pool)["X"].reshape(POOL, -1).astype(np.float32) / 16
    said = probabilities(load_student(first_alone.path), X, 10).argmax(axis=1)
    np.testing.assert_array_equal(given.y[own:], said)


def test_a_second_student_needs_a_pool(bench: Bench) -> None:
    with pytest.raises(OstrakaError, match="give --run and --pool") as refused:
        retrain(bench.site, bench.own, choice=Choice(second="ldp-ssl"), out=bench.run / "student")
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
def test_the_saved_network_is_the_one_measured_and_believes_as_it_says(bench: Bench) -> None:
    result = trained(bench)
    data = np.load(bench.test)
    X = data["X"].reshape(len(data["X"]), -1).astype(np.float32) / 16
    given = probabilities(load_student(result.path), X, 10)
    assert result.after is not None
    assert (given.argmax(axis=1) == data["y"]).mean() == result.after.accuracy
    scores = read_beliefs(result.path, X, 10).scores
    np.testing.assert_array_equal(scores, np.rint(given * 2**16))


@pytest.mark.heavy
def test_progress_logs_and_checkpoints_are_by_training(bench: Bench, tmp_path: Path) -> None:
    told: dict[str, list[int]] = {}
    bench.retrain(
        test=bench.test,
        choice=Choice("fixmatch", steps=20, device="cpu", log=tmp_path / "log", checkpoint=tmp_path / "kept"),
        progress=lambda name, done, total: told.setdefault(name, []).append(total - done),
    )
    assert {name: left[-1] for name, left in told.items()} == {"all": 0, "own": 0}
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == ["all", "own"]
    assert contents(tmp_path / "kept") == {}


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("choice", "told"),
    [
        ({"student": "oracle"}, "no student oracle"),
        ({"student": "fixmatch", "clusters": 4}, "--clusters"),
    ],
)
def test_what_cannot_be_trained_leaves_the_run_as_it_was(
    bench: Bench, choice: dict[str, object], told: str
) -> None:
    bench.retrain(test=bench.test)
    before = contents(bench.run)
    with pytest.raises(OstrakaError, match=told) as refused:
        trained(bench, **choice)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert contents(bench.run) == before


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"student": "vat", "model": "mlp"}, "leave out --model"),
        ({"steps": 5}, "takes no steps"),
        ({"student": "dp-sgd", "model": "logistic_regression"}, "or give network"),
        ({"student": "dp-sgd", "epsilon": 8.0, "checkpoint": Path("kept")}, "no log and no checkpoint"),
        ({"student": "fixmatch", "epsilon": 8.0}, "are for dp-sgd, not for fixmatch"),
        ({"student": "dp-sgd", "epsilon": 8.0, "second": "ldp-ssl"}, "leave out --second-student"),
        ({"delta": 1e-6}, "are for dp-sgd, not for supervised"),
        ({"smoothing": True}, "smoothing"),
        ({"clusters": 5}, "--clusters"),
        ({"device": "cuda"}, "no GPU"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options: dict[str, object], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as refused:
        Choice(**options)  # type: ignore[arg-type]
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
@pytest.mark.parametrize("place", ["log", "checkpoint"])
def test_a_folder_that_cannot_be_written_is_told(bench: Bench, tmp_path: Path, place: str) -> None:
    bench.retrain(test=bench.test)
    before, taken = contents(bench.run), tmp_path / "file"
    taken.touch()
    with pytest.raises(OstrakaError, match="Cannot write") as refused:
        trained(bench, **{place: taken / "folder"})
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert contents(bench.run) == before


@pytest.mark.heavy
def test_a_loss_that_is_no_number_leaves_the_run_as_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.retrain(test=bench.test)
    before = contents(bench.run)
    monkeypatch.setattr(
        "ostraka.client.students.fixmatch.FixMatch.default_learning", Learning(steps=60, learning_rate=1e30)
    )
    with pytest.raises(OstrakaError) as refused:
        trained(bench)
    assert refused.value.code is ErrorCode.MODEL_DIVERGED
    assert contents(bench.run) == before


@pytest.mark.heavy
def test_released_labels_are_smoothed_by_what_their_noise_does(bench: Bench) -> None:
    seen: list[Labelled] = []

    class Watched(FixMatch):
        def learn_from(self, labelled: Labelled, *rest: object, **more: object) -> "Watched":
            seen.append(labelled)
            return super().learn_from(labelled, *rest, **more)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ostraka.client.students.fixmatch.FixMatch", Watched)
        for smoothing in (True, False):
            trained(bench, steps=1, smoothing=smoothing)
    smoothed, own = seen[:2]
    released = POOL - SKIPPED
    assert smoothed.error is not None
    assert (smoothed.error[:-released] == 0).all()
    assert (smoothed.error[-released:] > 0).all()
    for right in (own, *seen[2:]):
        assert right.error is not None
        assert not right.error.any()


@pytest.mark.heavy
def test_a_network_from_the_command_line(bench: Bench, tmp_path: Path) -> None:
    files = ("--run", bench.run, "--pool", bench.pool, "--labelled", bench.own, "--test", bench.test)
    how = ("--student", "mixmatch", "--steps", 5, "--device", "cpu", "--seed", 3)
    settings = tmp_path / "student.toml"
    settings.write_text(f'smoothing = true\nlog = "{tmp_path}/log"\ncheckpoint = "{tmp_path}/kept"\n')
    kept = ("--settings", settings, "--out", tmp_path / "mine", "--json", "-")
    given = ("retrain", "--site", bench.site, *files, *how, *kept)
    result = CliRunner().invoke(app, [str(one) for one in given])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["student"], told["model"], told["path"]) == ("mixmatch", "network", str(tmp_path / "mine"))
    assert load_student(tmp_path / "mine").seed == 3
    assert list((tmp_path / "log" / "all").iterdir())
