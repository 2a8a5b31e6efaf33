"""Interactive runs: the student's scores go with the sum, and its own label stands where it is confident."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import skops.io
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier

from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.report.run_report import report
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session.run_state import load_state
from ostraka.client.students.models import train
from ostraka.client.students.predictions import read_beliefs
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Interactive
from tests.client.driving import options, rows, run, run_of
from tests.client.federation import Federation
from tests.client.hooks import noting
from tests.client.test_resuming import interrupted_once

MECHANISM = Interactive(sigma1=10.0, sigma2=5.0, threshold=6.0, confidence=0.6)
PRIORS = [0, 0, 0, 1]
"""Labels whose shares are the probabilities of a student that looks at no record: 3/4, 1/4 and 0."""


@pytest.fixture
def student(tmp_path: Path) -> Path:
    return saved(tmp_path / "student.skops", PRIORS)


def saved(path: Path, labels: list[int]) -> Path:
    skops.io.dump(DummyClassifier(strategy="prior").fit(np.zeros((len(labels), 2)), labels), path)
    return path


def ask(federation: Federation, student: Path | None, **changes: object) -> LabelResult:
    return run(federation, options(**{"mechanism": MECHANISM, **changes}), student=student)


def test_scores_go_with_every_sum(federation: Federation, student: Path) -> None:
    ask(federation, student)
    sent = [federation.guardian.scores["s0", batch] for batch in (1, 2, 3)]
    np.testing.assert_array_equal(np.concatenate(sent), np.tile([49152, 16384, 0], (10, 1)))


def test_one_batch_is_asked_at_a_time(federation: Federation, student: Path) -> None:
    at_once = noting(federation)
    ask(federation, student)
    assert at_once == [0, 0, 0]


def test_where_nobody_answers_the_student_does(federation: Federation, student: Path) -> None:
    federation.parties["b"].dissents = True
    result = ask(federation, student, queries=8)
    assert (result.asked, result.answered, result.abstained, result.by_student) == (8, 5, 3, 3)
    assert rows(federation)[:3] == [
        ("0", "ant", "answered"),
        ("1", "ant", "student"),
        ("2", "cat", "answered"),
    ]
    assert rows(federation)[8:] == [("8", "", "unasked"), ("9", "", "unasked")]
    figures = report(run_of(federation))
    assert (figures["answered"], figures["by_student"]) == (5, 3)
    assert figures["parties"][0]["answered"] == 5


def test_a_student_that_is_not_sure_leaves_a_query_open(federation: Federation, tmp_path: Path) -> None:
    federation.parties["b"].dissents = True
    result = ask(federation, saved(tmp_path / "unsure.skops", [0, 1]))
    assert (result.abstained, result.by_student) == (3, 0)
    assert rows(federation)[1] == ("1", "", "abstained")


def test_a_resumed_run_sends_the_same_scores(
    federation: Federation, student: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted_once(monkeypatch, GuardianPeer, "prepare", after=False)
    with pytest.raises(KeyboardInterrupt):
        ask(federation, student)
    ask(federation, student)
    assert [status for _, _, status in rows(federation)] == ["answered"] * 10
    assert all((sent == [49152, 16384, 0]).all() for sent in federation.guardian.scores.values())


def test_another_student_cannot_resume(federation: Federation, student: Path) -> None:
    ask(federation, student)
    stored = load_state(run_of(federation)).student
    assert stored is not None
    assert len(stored.sha256) == 64
    saved(student, [0, 0, 1])
    with pytest.raises(OstrakaError, match="another student") as refused:
        ask(federation, student)
    assert refused.value.code is ErrorCode.RUN_MISMATCH


def test_a_student_is_asked_for_and_no_other_mechanism_takes_one(
    federation: Federation, student: Path
) -> None:
    with pytest.raises(OstrakaError, match="give its file as --student") as missing:
        ask(federation, None)
    with pytest.raises(OstrakaError, match="leave out --student") as needless:
        run(federation, student=student)
    assert {missing.value.code, needless.value.code} == {ErrorCode.PLAN_INVALID}
    assert not run_of(federation).exists()


def test_runs_of_the_first_version_are_read_and_written_as_the_latest(federation: Federation) -> None:
    run(federation, options(queries=4))
    path = run_of(federation) / "session.json"
    old = json.loads(path.read_text())
    assert old.pop("student") is old.pop("scale") is None
    for party in old["parties"]:
        del party["cohorts"]
    for batch in old["batches"]:
        del batch["schedule"]
    path.write_text(json.dumps(old | {"version": 1, "closed": False}))
    assert load_state(run_of(federation)).version == 1
    assert run(federation, options(queries=4)).answered == 4
    assert json.loads(path.read_text())["version"] == 9


X = np.linspace(0, 1, 40, dtype=np.float32).reshape(20, 2)


def believed(path: Path, y: list[int], kind: str = "logistic_regression") -> NDArray[np.uint32]:
    skops.io.dump(train(kind, X, np.array(y), standardize=False), path)
    return read_beliefs(path, X, 3).scores


def test_a_class_that_the_student_never_saw_has_no_probability(tmp_path: Path) -> None:
    scores = believed(tmp_path / "two.skops", [0] * 10 + [2] * 10)
    assert scores.dtype == np.uint32
    assert (scores[:, 1] == 0).all()
    assert (abs(scores.sum(axis=1).astype(int) - 2**16) <= 1).all()


def test_the_same_file_gives_the_same_scores(tmp_path: Path) -> None:
    scores = believed(tmp_path / "net.skops", [0, 1] * 10, "mlp")
    np.testing.assert_array_equal(scores, read_beliefs(tmp_path / "net.skops", X, 3).scores)


def test_a_student_whose_weights_are_no_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lost.skops"
    model = train("mlp", X, np.array([0, 1] * 10), standardize=False)
    model.coefs_[-1][:] = np.nan
    skops.io.dump(model, path)
    with pytest.raises(OstrakaError) as refused:
        read_beliefs(path, X, 3)
    assert refused.value.code is ErrorCode.MODEL_INVALID


class Stranger:
    """A type that skops does not trust."""


@pytest.mark.parametrize(
    "model",
    [
        Stranger(),
        DummyClassifier().fit([[0]] * 2, [[0, 1], [1, 0]]),
        DummyClassifier().fit([[0]] * 4, [0, 1, 2, 3]),
        DummyClassifier().fit([[0]] * 2, ["ant", "bee"]),
    ],
)
def test_what_is_no_student_of_the_task_is_refused(tmp_path: Path, model: object) -> None:
    path = tmp_path / "model.skops"
    skops.io.dump(model, path)
    with pytest.raises(OstrakaError) as refused:
        read_beliefs(path, X, 3)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_a_file_that_is_not_there_or_not_skops_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "student.skops"
    with pytest.raises(OstrakaError) as missing:
        read_beliefs(path, X, 3)
    path.write_bytes(b"pickled")
    with pytest.raises(OstrakaError) as other:
        read_beliefs(path, X, 3)
    assert (missing.value.code, other.value.code) == (ErrorCode.DATA_MISSING, ErrorCode.MODEL_INVALID)


def test_labels_by_the_student_are_in_the_table(federation: Federation, student: Path) -> None:
    federation.parties["b"].dissents = True
    ask(federation, student)
    with (run_of(federation) / "labels.csv").open(newline="") as file:
        assert [row["label"] for row in csv.DictReader(file) if row["status"] == "student"] == ["ant"] * 3
