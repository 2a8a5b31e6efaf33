"""Votes to search on, as people give them, and as they should not."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.search_options import KEPT, SearchOptions
from ostraka.common.planning.search.vote_sample import read_sample

COUNTS = [[8, 1, 1], [2, 3, 5]]
BALLOTS = np.tile([[1, 0, 1], [0, 0, 1]], (10, 1, 1))


def file(folder: Path, **arrays: ArrayLike) -> Path:
    path = folder / "votes.npz"
    np.savez(path, **{name: np.asarray(array) for name, array in arrays.items()})  # type: ignore[arg-type]
    return path


def test_what_most_teachers_say_is_right_where_nobody_says(tmp_path: Path) -> None:
    path = tmp_path / "votes.npy"
    np.save(path, COUNTS)
    sample, held = read_sample(path, 3, None)
    assert (sample.teachers, held, sample.truth.tolist(), sample.multi_label) == (10, 2, [0, 2], False)
    assert read_sample(file(tmp_path, votes=COUNTS, labels=[0, 1]), 3, 10)[0].truth.tolist() == [0, 1]


def test_ballots_are_of_several_labels(tmp_path: Path) -> None:
    sample, held = read_sample(file(tmp_path, ballots=BALLOTS), 3, 10)
    assert sample.multi_label
    assert sample.counts.tolist() == [[10, 0, 10], [0, 0, 10]]
    assert sample.truth.tolist() == [[True, False, True], [False, False, True]]
    assert held == 2


def test_counts_of_yeses_need_the_number_of_teachers(tmp_path: Path) -> None:
    path = file(tmp_path, votes=COUNTS)
    sample, _ = read_sample(path, 3, 12, several=True)
    assert (sample.teachers, sample.ballots) == (12, None)


def test_many_queries_are_thinned(tmp_path: Path) -> None:
    sample, held = read_sample(file(tmp_path, votes=np.tile(COUNTS, (5000, 1))), 3, None)
    assert (len(sample.counts), held) == (1000, 10_000)


@pytest.mark.parametrize(
    ("arrays", "teachers", "several", "code", "told"),
    [
        ({"votes": [[1, 2]]}, None, None, ErrorCode.DATA_SHAPE, "must be queries x 3"),
        ({"votes": [[1, 2, 3], [1, 1, 1]]}, None, None, ErrorCode.DATA_SHAPE, "rows sum to 3 up to 6"),
        ({"votes": [[0, 0, 0]]}, None, None, ErrorCode.DATA_SHAPE, "one vote of every teacher"),
        ({"votes": [[-1, 2, 3]]}, None, None, ErrorCode.DATA_SHAPE, "negative"),
        ({"votes": [[np.nan, 2, 3]]}, None, None, ErrorCode.DATA_NAN, "not finite"),
        ({"votes": COUNTS}, 25, None, ErrorCode.DATA_SHAPE, "of 10 teachers, not of 25"),
        ({"votes": COUNTS}, None, True, ErrorCode.CONFIG_INVALID, "give --teachers"),
        ({"votes": COUNTS}, 7, True, ErrorCode.DATA_SHAPE, "a count of 8, and there are 7"),
        ({"counts": COUNTS}, None, None, ErrorCode.DATA_MISSING, "no array votes"),
        ({"votes": COUNTS, "labels": [0]}, None, None, ErrorCode.DATA_SHAPE, "labels must be 2"),
        ({"votes": COUNTS, "labels": [0, 3]}, None, None, ErrorCode.DATA_SHAPE, "classes from 0 to 2"),
        ({"votes": COUNTS, "labels": [0, 1]}, 10, True, ErrorCode.DATA_SHAPE, "labels must be 2 x 3"),
        ({"ballots": COUNTS}, None, None, ErrorCode.DATA_SHAPE, "teachers x queries x 3"),
        ({"ballots": BALLOTS * 2}, None, None, ErrorCode.DATA_SHAPE, "must be 0 or 1"),
        ({"ballots": BALLOTS}, None, False, ErrorCode.DATA_SHAPE, "a record has one class"),
    ],
)
def test_votes_that_do_not_fit_are_refused(
    tmp_path: Path,
    arrays: dict[str, ArrayLike],
    teachers: int | None,
    several: bool | None,
    code: ErrorCode,
    told: str,
) -> None:
    with pytest.raises(OstrakaError) as refused:
        read_sample(file(tmp_path, **arrays), 3, teachers, several=several)
    assert (refused.value.code, told in refused.value.message) == (code, True), refused.value.message


@pytest.mark.parametrize(
    ("options", "teachers", "several", "told"),
    [
        ({}, 10, None, "give public or simulated ones with --votes"),
        ({"teacher_accuracy": 0.9}, None, None, "give --teachers"),
        ({"teacher_accuracy": 0.1}, 10, None, "no better than guessing"),
        ({"teacher_accuracy": 0.4, "positives": 2}, 10, None, "no better than guessing"),
        ({"teacher_accuracy": 0.9}, 10, True, "give positives in --settings"),
        ({"teacher_accuracy": 0.9, "positives": 9}, 10, None, "below the number of labels"),
    ],
)
def test_what_no_votes_can_be_assumed_from_is_refused(
    options: dict[str, float], teachers: int | None, several: bool | None, told: str
) -> None:
    chosen = SearchOptions.model_validate({"search": True, **options})
    with pytest.raises(OstrakaError) as refused:
        chosen.sample(None, 9, teachers, several=several)
    assert (refused.value.code, told in refused.value.message) == (ErrorCode.CONFIG_INVALID, True)


def test_votes_are_given_or_assumed_not_both(tmp_path: Path) -> None:
    chosen = SearchOptions(search=True, teacher_accuracy=0.9)
    with pytest.raises(OstrakaError, match="leave one of them out"):
        chosen.sample(file(tmp_path, votes=COUNTS), 3, None, several=None)


def test_the_least_accuracy_is_a_share_of_that_without_noise(tmp_path: Path) -> None:
    sample, _ = read_sample(file(tmp_path, votes=COUNTS, labels=[0, 1]), 3, None)
    assert SearchOptions(search=True).least(Forecaster(sample)) == KEPT * 0.5
    assert SearchOptions(search=True, least_accuracy=0.0).least(Forecaster(sample)) == 0.0
