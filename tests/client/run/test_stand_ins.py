"""Models of own records vote in place of teachers, each on records that it did not learn from."""

import numpy as np
import pytest

from ostraka.client.run import stand_ins
from ostraka.client.run.stand_ins import MIN_OWN, MIN_RARE, vote_on_own_records
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.task import infer_task

TEACHERS = 30
RNG = np.random.default_rng(4)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stand_ins, "STAND_INS", 16)


def own(X: np.ndarray, y: np.ndarray) -> Dataset:
    return from_arrays(X, y, classes=("no", "yes"))


def test_every_record_has_all_votes_and_most_are_right_where_records_tell() -> None:
    X = RNG.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(np.int64)
    records = own(X, y)
    sample, again = (vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 40) for _ in range(2))
    assert sample.counts.sum(axis=1) == pytest.approx(np.full(60, TEACHERS))
    np.testing.assert_array_equal(sample.truth, y)
    np.testing.assert_array_equal(sample.counts, again.counts)
    assert (sample.counts.argmax(axis=1) == y).mean() > 0.85


def test_nobody_votes_on_what_it_learned() -> None:
    """Labels that mean nothing are learned by heart by a line in as many dimensions, and not foretold."""
    X, y = RNG.normal(size=(80, 60)), np.repeat([0, 1], 40)
    records = own(X, y)
    sample = vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 40)
    assert sample.counts[np.arange(80), y].mean() / TEACHERS < 0.7


def test_they_know_as_little_as_a_teacher() -> None:
    """From one record each, a stand-in says its class of all others: its share of the records, in all."""
    y = np.repeat([0, 1], [30, 10])
    records = own(RNG.normal(size=(40, 2)), y)
    sample = vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 1)
    shares = sample.counts[:, 1] / TEACHERS
    assert shares.max() - shares.min() < 0.2


def of_rare_class(yeses: int) -> VoteSample:
    """Votes of stand-ins that learn from four records each, so that some never see a yes."""
    records = own(RNG.normal(size=(60, 2)), np.repeat([1, 0], [yeses, 60 - yeses]))
    return vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 4)


def test_a_rare_class_is_told_by_a_few_records_of_it() -> None:
    sample = of_rare_class(MIN_RARE)
    assert sample.truth.sum() == MIN_RARE
    assert sample.has_rare_class
    with pytest.raises(OstrakaError, match=f"have {MIN_RARE - 1} of the rarer class") as refused:
        of_rare_class(MIN_RARE - 1)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


@pytest.mark.parametrize("y", [np.arange(MIN_OWN - 1) % 2, np.zeros(MIN_OWN, np.int64)])
def test_too_few_tell_nothing(y: np.ndarray) -> None:
    records = own(RNG.normal(size=(len(y), 2)), y)
    with pytest.raises(OstrakaError, match=f"needs {MIN_OWN} of at least two classes") as refused:
        vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 40)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


def test_records_of_several_labels_are_refused() -> None:
    records = from_arrays(np.eye(4), np.eye(4, 2, dtype=np.int64), classes=("a", "b"))
    with pytest.raises(OstrakaError, match="several labels") as refused:
        vote_on_own_records(infer_task(records, "t"), records, TEACHERS, 40)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
