from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, Binary, GnMax, Mechanism, Powerset, Tau
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.task import Task, infer_task
from ostraka.services.admission.manifest_terms import ScheduledTeachers
from ostraka.services.hosting.ballots import Teachers
from ostraka.services.hosting.prediction_thread import MICRO_BATCH
from tests.services.conftest import symptoms

QUERIES = 150


class Scripted:
    """Teachers whose votes were drawn beforehand; a query's first feature is its number."""

    def __init__(self, scores: NDArray[Any]) -> None:
        self.scores = scores
        self.asked: list[int] = []

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        self.asked.append(len(X))
        return self.scores[rows, X[:, 0].astype(int)]


@pytest.fixture(scope="module")
def task() -> Task:
    return infer_task(symptoms(20), "symptoms")


@pytest.fixture
def scripted() -> Scripted:
    return Scripted(np.random.default_rng(0).random((4, QUERIES, 5), np.float32))


X = np.repeat(np.arange(QUERIES, dtype=np.float32)[:, None], 6, axis=1)
ALL = np.ones(QUERIES, np.bool_)
MECHANISMS = [Binary(sigma=1.0), Tau(sigma=1.0, tau=1.2), L1(sigma=1.0, tau1=1.5), Powerset(sigma=1.0)]


def everyone(scheduled: NDArray[np.bool_]) -> list[ScheduledTeachers]:
    return [ScheduledTeachers(slice(None), scheduled, VOTE)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_small_micro_batches_count_the_same(
    task: Task, scripted: Scripted, mechanism: Mechanism, monkeypatch: pytest.MonkeyPatch
) -> None:
    teachers = Teachers(scripted, 4, task)
    whole = teachers.ballots(X, everyone(ALL), mechanism.ballot)
    assert scripted.asked == [QUERIES]
    monkeypatch.setattr("ostraka.services.hosting.ballots.WORK_BYTES", 10_000)
    assert np.array_equal(teachers.ballots(X, everyone(ALL), mechanism.ballot), whole)
    assert 1 <= max(scripted.asked[1:]) < 20


def test_a_micro_batch_is_never_larger_than_named_nor_empty(task: Task, scripted: Scripted) -> None:
    many = np.zeros((MICRO_BATCH + 1, 6), np.float32)
    Teachers(scripted, 4, task).ballots(
        many, everyone(np.ones(len(many), np.bool_)), Binary(sigma=1.0).ballot
    )
    assert scripted.asked == [MICRO_BATCH, 1]


def test_only_scheduled_queries_are_voted_on(task: Task, scripted: Scripted) -> None:
    some = np.arange(QUERIES) % 3 == 1
    teachers = Teachers(scripted, 4, task)
    found = teachers.ballots(X, everyone(some), Binary(sigma=1.0).ballot)
    assert scripted.asked == [50]
    assert np.array_equal(found, teachers.ballots(X, everyone(ALL), Binary(sigma=1.0).ballot) * some[:, None])
    assert not teachers.ballots(X, everyone(~ALL), Binary(sigma=1.0).ballot).any()


def turns(seed: int) -> list[ScheduledTeachers]:
    """Return turns of the first teacher and of the three others, on queries and at weights of their own."""
    random = np.random.default_rng(seed)
    return [
        ScheduledTeachers(slice(0, 1), random.random(QUERIES) < 0.5, int(random.integers(1, VOTE))),
        ScheduledTeachers(slice(1, 4), random.random(QUERIES) < 0.7, int(random.integers(VOTE, 3 * VOTE))),
    ]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.kind)
@pytest.mark.parametrize("seed", range(3))
def test_votes_of_several_weights_are_summed_exactly(
    task: Task, scripted: Scripted, mechanism: Mechanism, seed: int
) -> None:
    expected = np.zeros((QUERIES, mechanism.width(5)), np.int64)
    for turn in turns(seed):
        for teacher in range(4)[turn.rows]:
            for query in np.flatnonzero(turn.scheduled):
                alone = mechanism.ballot.count(scripted.scores[[[teacher]], [[query]]], 5)[0] * VOTE
                expected[query] += alone.astype(np.int64) * turn.weight // VOTE
    found = Teachers(scripted, 4, task).ballots(X, turns(seed), mechanism.ballot)
    assert np.array_equal(found * VOTE, expected)
    assert (expected % VOTE).any()


def test_one_class_votes_of_several_weights_are_summed_exactly() -> None:
    classes = np.random.default_rng(0).integers(0, 10, (4, QUERIES))
    task = infer_task(from_arrays(np.zeros((10, 6)), np.arange(10)), "digits")
    expected = np.zeros((QUERIES, 10), np.int64)
    for turn in turns(0):
        for teacher in range(4)[turn.rows]:
            for query in np.flatnonzero(turn.scheduled):
                expected[query, classes[teacher, query]] += turn.weight
    found = Teachers(Scripted(classes), 4, task).ballots(X, turns(0), GnMax(sigma=1.0).ballot)
    assert np.array_equal(found * VOTE, expected)


def test_a_cohort_is_asked_about_its_own_queries_only(task: Task, scripted: Scripted) -> None:
    first, second = turns(0)
    Teachers(scripted, 4, task).ballots(X, (first, second), Binary(sigma=1.0).ballot)
    assert scripted.asked == [first.scheduled.sum(), second.scheduled.sum()]


@pytest.mark.parametrize(("teachers", "labels"), [(3, 5), (4, 4)])
def test_teachers_of_another_number_or_kind_are_refused(task: Task, teachers: int, labels: int) -> None:
    odd = Scripted(np.zeros((teachers, QUERIES, labels), np.float32))
    with pytest.raises(OstrakaError) as refused:
        Teachers(odd, 4, task).ballots(X, everyone(ALL), Binary(sigma=1.0).ballot)
    assert refused.value.code is ErrorCode.MODEL_INVALID
