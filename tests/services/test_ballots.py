import numpy as np
import pytest
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError
from common.mechanism import AnyMechanism, Binary, Powerset, Tau
from common.task import Task, infer_task
from services.ballots import MICRO_BATCH, Teachers
from tests.services.conftest import symptoms

QUERIES = 150


class Scripted:
    """Teachers whose scores were drawn beforehand; a query's first feature is its number."""

    def __init__(self, scores: NDArray[np.float32]) -> None:
        self.scores = scores
        self.asked: list[int] = []

    def predict(self, X: NDArray[np.float32]) -> NDArray[np.float32]:
        self.asked.append(len(X))
        return self.scores[:, X[:, 0].astype(int)]


@pytest.fixture(scope="module")
def task() -> Task:
    return infer_task(symptoms(20), "symptoms")


@pytest.fixture
def scripted() -> Scripted:
    return Scripted(np.random.default_rng(0).random((4, QUERIES, 5), np.float32))


X = np.repeat(np.arange(QUERIES, dtype=np.float32)[:, None], 6, axis=1)
ALL = np.ones(QUERIES, np.bool_)


@pytest.mark.parametrize("mechanism", [Binary(sigma=1.0), Tau(sigma=1.0, tau=1.2), Powerset(sigma=1.0)])
def test_small_micro_batches_count_the_same(
    task: Task, scripted: Scripted, mechanism: AnyMechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    teachers = Teachers(scripted, 4, task)
    whole = teachers.ballots(X, ALL, mechanism)
    assert scripted.asked == [QUERIES]
    monkeypatch.setattr("services.ballots.WORK_BYTES", 10_000)
    assert np.array_equal(teachers.ballots(X, ALL, mechanism), whole)
    assert 1 <= max(scripted.asked[1:]) < 20


def test_a_micro_batch_is_never_larger_than_named_nor_empty(task: Task, scripted: Scripted) -> None:
    many = np.zeros((MICRO_BATCH + 1, 6), np.float32)
    Teachers(scripted, 4, task).ballots(many, np.ones(len(many), np.bool_), Binary(sigma=1.0))
    assert scripted.asked == [MICRO_BATCH, 1]


def test_only_scheduled_queries_are_voted_on(task: Task, scripted: Scripted) -> None:
    some = np.arange(QUERIES) % 3 == 1
    teachers = Teachers(scripted, 4, task)
    found = teachers.ballots(X, some, Binary(sigma=1.0))
    assert scripted.asked == [50]
    assert np.array_equal(found, teachers.ballots(X, ALL, Binary(sigma=1.0)) * some[:, None])
    assert not teachers.ballots(X, ~ALL, Binary(sigma=1.0)).any()


@pytest.mark.parametrize(("teachers", "labels"), [(3, 5), (4, 4)])
def test_teachers_of_another_number_or_kind_are_refused(task: Task, teachers: int, labels: int) -> None:
    odd = Scripted(np.zeros((teachers, QUERIES, labels), np.float32))
    with pytest.raises(OstrakaError) as refused:
        Teachers(odd, 4, task).ballots(X, ALL, Binary(sigma=1.0))
    assert refused.value.code is ErrorCode.MODEL_INVALID
