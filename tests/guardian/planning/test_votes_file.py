"""Files of simulated votes, and what is told of those that do not fit."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, GnMax, Interactive, Mechanism, NoiseCluster, Tau
from ostraka.common.planning.candidate import Candidate
from ostraka.guardian.planning.votes_file import read_votes

GNMAX, BINARY = GnMax(sigma=5.0), Binary(sigma=5.0)
INTERACTIVE = Interactive(sigma1=9.0, sigma2=5.0, threshold=5.0, confidence=0.9)
HISTOGRAMS = np.array([[5, 1, 0], [0, 0, 6]])


def saved(folder: Path, array: object, **named: object) -> Path:
    path = folder / ("votes.npz" if named else "votes.npy")
    if named:
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in named.items()}
        np.savez(path, **arrays)
    else:
        np.save(path, np.asarray(array))
    return path


def read(path: Path, mechanism: Mechanism, teachers: int | None = None) -> tuple[int, tuple[int, ...]]:
    votes = read_votes(path, Candidate(mechanism, 3), teachers)
    return votes.teachers, votes.counts.shape


def test_histograms_say_how_many_voted(tmp_path: Path) -> None:
    assert read(saved(tmp_path, HISTOGRAMS), GNMAX) == (6, (2, 3))
    assert read(saved(tmp_path, None, votes=HISTOGRAMS), GNMAX, 6) == (6, (2, 3))


def test_labels_need_to_be_told(tmp_path: Path) -> None:
    path = saved(tmp_path, np.array([[5.5, 1.0, 0.0]]))
    assert read(path, Tau(sigma=5.0, tau=1.0), 6) == (6, (1, 3))


def test_clusters_count_records(tmp_path: Path) -> None:
    assert read(saved(tmp_path, np.array([[5, 1, 0], [90, 3, 1]])), NoiseCluster(sigma=5.0), 6) == (
        100,
        (2, 3),
    )


def test_a_students_scores_come_along(tmp_path: Path) -> None:
    scores = np.full((2, 3), 1 / 3)
    path = saved(tmp_path, None, votes=HISTOGRAMS, scores=scores)
    votes = read_votes(path, Candidate(INTERACTIVE, 3), None)
    assert votes.scores is not None
    assert votes.first(1).scores is not None
    assert np.array_equal(votes.scores, scores)
    assert len(votes.first(1).counts) == 1


@pytest.mark.parametrize(
    ("array", "mechanism", "teachers", "code"),
    [
        (np.ones((2, 4)), GNMAX, None, ErrorCode.DATA_SHAPE),
        (np.ones(3), GNMAX, None, ErrorCode.DATA_SHAPE),
        (np.ones((0, 3)), GNMAX, None, ErrorCode.DATA_SHAPE),
        ([[5, 1, 0], [0, 0, 7]], GNMAX, None, ErrorCode.DATA_SHAPE),
        (HISTOGRAMS, GNMAX, 7, ErrorCode.DATA_SHAPE),
        ([[7, -1, 0]], GNMAX, None, ErrorCode.DATA_SHAPE),
        ([[np.nan, 1, 0]], GNMAX, None, ErrorCode.DATA_NAN),
        ([["5", "1", "0"]], GNMAX, None, ErrorCode.DATA_NOT_NUMERIC),
        (HISTOGRAMS, BINARY, 5, ErrorCode.DATA_SHAPE),
        (HISTOGRAMS, INTERACTIVE, None, ErrorCode.DATA_MISSING),
    ],
)
def test_votes_that_do_not_fit_are_refused(
    tmp_path: Path, array: object, mechanism: Mechanism, teachers: int | None, code: ErrorCode
) -> None:
    with pytest.raises(OstrakaError) as refused:
        read(saved(tmp_path, array), mechanism, teachers)
    assert refused.value.code is code


def test_votes_on_labels_need_the_number_of_teachers(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError, match="give --teachers") as refused:
        read(saved(tmp_path, HISTOGRAMS), BINARY, None)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_scores_of_another_shape_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path, None, votes=HISTOGRAMS, scores=np.ones((3, 3)))
    with pytest.raises(OstrakaError, match="scores must be 2 x 3"):
        read(path, INTERACTIVE)


def test_files_that_hold_no_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OstrakaError) as missing:
        read(tmp_path / "none.npy", GNMAX)
    assert missing.value.code is ErrorCode.DATA_MISSING
    (tmp_path / "text.npy").write_text("five, one, none")
    with pytest.raises(OstrakaError) as unreadable:
        read(tmp_path / "text.npy", GNMAX)
    assert unreadable.value.code is ErrorCode.DATA_UNREADABLE
    with pytest.raises(OstrakaError) as nameless:
        read(saved(tmp_path, None, counts=HISTOGRAMS), GNMAX)
    assert nameless.value.code is ErrorCode.DATA_MISSING
