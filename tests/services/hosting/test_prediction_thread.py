import threading
import weakref
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import Device
from ostraka.services.hosting.prediction_thread import PredictionThread
from ostraka.services.teachers.guard import device_gone
from tests.fair_clock import HANGS_S

TEACHERS = 4
POISON = -1.0


class Sums:
    """Teachers that vote a query's number times their own, plus one; poisoned queries make them fail."""

    def __init__(self, failure: BaseException | None = None) -> None:
        self.sizes: list[int] = []
        self.failure = failure or RuntimeError("poisoned")
        self.entered, self.go_on = threading.Event(), threading.Event()
        self.go_on.set()

    def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
        self.entered.set()
        self.go_on.wait()
        self.sizes.append(len(X))
        if (X == POISON).any():
            raise self.failure
        return np.outer(np.arange(1, TEACHERS + 1)[rows], X[:, 0]).astype(np.int64)


def numbered(start: int, count: int) -> NDArray[np.float32]:
    return np.arange(start, start + count, dtype=np.float32)[:, None]


@contextmanager
def busy(thread: PredictionThread, model: Sums) -> Iterator[None]:
    """Keep the thread predicting one query while the block runs, and let it predict what came meanwhile."""
    model.go_on.clear()
    first = thread.ask(model, numbered(0, 1), slice(None))
    model.entered.wait()
    yield
    model.go_on.set()
    assert first.result().tolist() == [[0]] * TEACHERS
    model.sizes.remove(1)


@pytest.fixture
def thread() -> Iterator[PredictionThread]:
    with closing(PredictionThread(Device())) as made:
        yield made


def test_what_waits_for_the_same_teachers_is_predicted_together(thread: PredictionThread) -> None:
    model = Sums()
    with busy(thread, model):
        asked = [thread.ask(model, numbered(10 * i, i + 2), slice(None)) for i in range(3)]
    for i, votes in enumerate(asked):
        assert np.array_equal(votes.result(), Sums().predict(numbered(10 * i, i + 2), slice(None)))
    assert model.sizes == [9]


def test_other_teachers_and_other_models_are_asked_apart(thread: PredictionThread) -> None:
    model, other = Sums(), Sums()
    with busy(thread, model):
        asked = [
            thread.ask(which, numbered(5, 2), rows)
            for which, rows in ((model, slice(0, 1)), (model, slice(1, 4)), (other, slice(0, 1)))
        ]
    one, others = [[5, 6]], [[10, 12], [15, 18], [20, 24]]
    assert [votes.result().tolist() for votes in asked] == [one, others, one]
    assert (model.sizes, other.sizes) == ([2, 2], [2])


def test_no_more_than_named_are_predicted_together_and_nobody_is_overtaken_for_long(
    thread: PredictionThread,
) -> None:
    model = Sums()
    with busy(thread, model):
        asked = [thread.ask(model, numbered(0, size), slice(None), 6) for size in (4, 3, 2, 9, 1)]
    assert [votes.result().shape[1] for votes in asked] == [4, 3, 2, 9, 1]
    assert model.sizes == [6, 4, 9]


def test_queries_that_make_a_model_fail_fail_alone(thread: PredictionThread) -> None:
    model = Sums()
    with busy(thread, model):
        good, bad, fine = (
            thread.ask(model, X, slice(None)) for X in (numbered(1, 2), numbered(-1, 1), numbered(3, 1))
        )
    assert good.result().shape == (TEACHERS, 2)
    assert fine.result().shape == (TEACHERS, 1)
    with pytest.raises(RuntimeError, match="poisoned"):
        bad.result()
    assert thread.predict(model, numbered(7, 1), slice(0, 1)).tolist() == [[7]]


def test_a_model_that_ends_its_thread_ends_no_other_answers(thread: PredictionThread) -> None:
    model = Sums(SystemExit(0))
    with pytest.raises(RuntimeError, match="SystemExit"):
        thread.predict(model, numbered(-1, 1), slice(None))
    assert thread.predict(model, numbered(7, 1), slice(0, 1)).tolist() == [[7]]


def test_answers_of_the_wrong_length_are_never_shared_out(thread: PredictionThread) -> None:
    class Short(Sums):
        def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
            return super().predict(X, rows)[:, : max(1, len(X) - 1)]

    model = Short()
    with busy(thread, model):
        asked = [thread.ask(model, numbered(start, 1), slice(0, 1)) for start in (3, 8)]
    assert [votes.result().tolist() for votes in asked] == [[[3]], [[8]]]


def test_a_closed_device_answers_what_waits_and_takes_no_more() -> None:
    thread, model = PredictionThread(Device()), Sums()
    with busy(thread, model):
        waiting = thread.ask(model, numbered(4, 1), slice(0, 1))
        closing_thread = threading.Thread(target=thread.close)
        closing_thread.start()
    closing_thread.join()
    assert waiting.result().tolist() == [[4]]
    with pytest.raises(OstrakaError) as refused:
        thread.predict(model, numbered(4, 1), slice(None))
    assert refused.value.code is ErrorCode.SERVER_STOPPING


asks = st.lists(
    st.tuples(st.integers(1, 7), st.integers(0, 50), st.integers(0, 3), st.integers(1, 4)), max_size=12
)


@given(asks, st.integers(1, 10))
@settings(max_examples=50, deadline=None)
def test_everybody_gets_the_votes_on_their_own_queries(
    wanted: list[tuple[int, int, int, int]], most: int
) -> None:
    model = Sums()
    with closing(PredictionThread(Device())) as thread:
        asked: list[tuple[NDArray[np.float32], slice, Future[NDArray[Any]]]] = []
        with busy(thread, model):
            for size, start, first, teachers in wanted:
                X, rows = numbered(start, size), slice(first, first + teachers)
                asked.append((X, rows, thread.ask(model, X, rows, most)))
        for X, rows, votes in asked:
            assert np.array_equal(votes.result(), Sums().predict(X, rows))
    assert max(model.sizes, default=0) <= max([most, *(size for size, *_ in wanted)])


def test_a_prediction_for_which_the_device_is_gone_tells() -> None:
    gone, device = device_gone("RuntimeError"), Device()
    with closing(PredictionThread(device)) as thread:
        with pytest.raises(OstrakaError) as refused:
            thread.predict(Sums(gone), numbered(-1, 1), slice(None))
        assert refused.value is gone
        assert not device.state.works
        assert thread.predict(Sums(), np.zeros((1, 1), np.float32), slice(0, 1)).tolist() == [[0]]
        assert not device.state.works


def test_a_model_is_not_kept_once_it_has_answered() -> None:
    class Model:
        def predict(self, X: NDArray[np.float32], rows: slice) -> NDArray[Any]:
            return np.zeros((1, len(X)), np.int64)

    model = Model()
    gone = threading.Event()
    weakref.finalize(model, gone.set)
    with closing(PredictionThread(Device())) as thread:
        thread.predict(model, np.zeros((1, 1), np.float32), slice(None))
        del model
        assert gone.wait(HANGS_S)
