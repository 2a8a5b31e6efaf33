"""Votes to search on, from a file."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.arrays_file import VOTES, finite, read_arrays, wrong_shape
from ostraka.common.planning.search.vote_sample import VoteSample, most_queries

BALLOTS, LABELS = "ballots", "labels"


def read_sample(
    path: Path, classes: int, teachers: int | None, *, several: bool | None = None
) -> tuple[VoteSample, int]:
    """Return public or simulated votes, thinned to as many as are searched quickly, and how many there were.

    The file is an .npy of counts (queries, classes), or an .npz of these as `votes`, or of each teacher's
    `ballots` (teachers, queries, labels), 0 or 1. `labels` of an .npz says what is right: a class (queries,),
    or 0 or 1 for each label (queries, labels); without it, that is what most teachers say.

    Args:
        path: of the file.
        classes: classes, or labels.
        teachers: how many vote, where somebody says it; counts of labels do not say it themselves.
        several: whether a query has several labels; None: it has where the file holds ballots.

    Raises:
        OstrakaError: `data.*` for a file that cannot be read or does not fit.
    """
    arrays = read_arrays(path)
    ballots = None
    if BALLOTS in arrays:
        given = finite(arrays[BALLOTS], path, BALLOTS)
        if given.ndim != 3 or given.shape[2] != classes or 0 in given.shape:
            raise wrong_shape(path, BALLOTS, f"teachers x queries x {classes}", given)
        ballots = _bits(path, BALLOTS, given)
        counts, voted = ballots.sum(axis=0).astype(np.float64), len(ballots)
    else:
        counts = finite(arrays.get(VOTES), path, VOTES)
        if counts.ndim != 2 or counts.shape[1] != classes or not len(counts):
            raise wrong_shape(path, VOTES, f"queries x {classes}", counts)
        voted = _voted(path, counts, teachers, several=bool(several))
    multi_label = ballots is not None if several is None else several
    if ballots is not None and not multi_label:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE, f"{path} holds ballots on labels, and a record has one class; give votes."
        )
    if teachers is not None and voted != teachers:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{path} holds votes of {voted} teachers, not of {teachers}; change --teachers.",
        )
    truth = _truth(path, arrays.get(LABELS), counts, voted, multi_label=multi_label)
    sample = VoteSample(counts, voted, truth, ballots)
    return sample.thinned(most_queries(voted, classes)), len(counts)


def _voted(path: Path, counts: NDArray[np.float64], told: int | None, *, several: bool) -> int:
    """Return how many teachers made these counts."""
    if (counts < 0).any():
        raise OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {VOTES} holds a negative count; give counts.")
    if several:
        if told is None:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID, "Votes on labels do not say how many voted: give --teachers."
            )
        if counts.max() > told:
            raise OstrakaError(
                ErrorCode.DATA_SHAPE,
                f"{path} has a count of {counts.max():g}, and there are {told} teachers; change --teachers.",
            )
        return told
    sums = np.unique(counts.sum(axis=1))
    if len(sums) > 1 or sums[0] < 1:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{path}: rows sum to {sums[0]:g} up to {sums[-1]:g} votes; give one vote of every teacher.",
        )
    return int(sums[0])


def _truth(
    path: Path,
    labels: NDArray[np.generic] | None,
    counts: NDArray[np.float64],
    teachers: int,
    *,
    multi_label: bool,
) -> NDArray[np.int64] | NDArray[np.bool_]:
    """Return what is right; without labels, what most teachers say."""
    if labels is None:
        return 2 * counts > teachers if multi_label else counts.argmax(axis=1)
    given = finite(labels, path, LABELS)
    if multi_label:
        if given.shape != counts.shape:
            raise wrong_shape(path, LABELS, " x ".join(map(str, counts.shape)), given)
        return _bits(path, LABELS, given)
    if given.shape != (len(counts),):
        raise wrong_shape(path, LABELS, f"{len(counts)}", given)
    if not np.isin(given, np.arange(counts.shape[1])).all():
        raise OstrakaError(
            ErrorCode.DATA_SHAPE, f"{path}: {LABELS} must be classes from 0 to {counts.shape[1] - 1}."
        )
    return given.astype(np.int64)


def _bits(path: Path, name: str, given: NDArray[np.float64]) -> NDArray[np.bool_]:
    if not np.isin(given, (0, 1)).all():
        raise OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {name} must be 0 or 1 for each label.")
    return given.astype(np.bool_)
