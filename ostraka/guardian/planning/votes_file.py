"""Simulated votes from a file."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.planning.candidate import Candidate
from ostraka.common.planning.search.vote_sample import VOTES, finite, read_arrays, wrong_shape

SCORES = "scores"


@dataclass(frozen=True)
class Votes:
    """Ballots that somebody simulated: they say what to expect, and are nobody's real votes.

    Attributes:
        counts: sums of ballots as the mechanism counts them, float64 (queries, width).
        teachers: how many voted.
        scores: what an interactive plan's student believes, float64 (queries, classes).
    """

    counts: NDArray[np.float64]
    teachers: int
    scores: NDArray[np.float64] | None = None

    def first(self, queries: int) -> "Votes":
        """Return the votes on the first `queries`, or on all there are."""
        scores = None if self.scores is None else self.scores[:queries]
        return replace(self, counts=self.counts[:queries], scores=scores)


def read_votes(path: Path, candidate: Candidate, teachers: int | None) -> Votes:
    """Votes of a .npy file, or of `votes` and `scores` in an .npz.

    Single-label histograms say themselves how many teachers voted. Raises `data.*` for a file that cannot
    be read or whose shape or contents do not fit the mechanism.
    """
    arrays = read_arrays(path)
    counts = finite(arrays.get(VOTES), path, VOTES)
    width = candidate.mechanism.width(candidate.classes)
    if counts.ndim != 2 or counts.shape[1] != width or not len(counts):
        raise wrong_shape(path, VOTES, f"queries x {width}", counts)
    if (counts < 0).any():
        raise OstrakaError(ErrorCode.DATA_SHAPE, f"{path}: {VOTES} holds a negative count; give counts.")
    scores = None
    if candidate.mechanism.takes_scores:
        scores = finite(arrays.get(SCORES), path, SCORES)
        if scores.shape != (len(counts), candidate.classes):
            raise wrong_shape(path, SCORES, f"{len(counts)} x {candidate.classes}", scores)
    return Votes(counts, _teachers(path, counts, candidate, teachers), scores)


def _teachers(path: Path, counts: NDArray[np.float64], candidate: Candidate, told: int | None) -> int:
    if candidate.mechanism.by_record:
        return int(counts.sum())
    if candidate.mechanism.multi_label:
        return _of_labels(path, counts, told)
    sums = np.unique(counts.sum(axis=1))
    if len(sums) > 1 or sums[0] != (told or sums[0]):
        wanted = f"{told} teachers" if told else "the same number of teachers"
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{path}: rows sum to {sums[0]:g} up to {sums[-1]:g} votes; each must hold those of {wanted}.",
        )
    return int(sums[0])


def _of_labels(path: Path, counts: NDArray[np.float64], told: int | None) -> int:
    if told is None:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, "Votes on labels do not say how many voted: give --teachers."
        )
    if counts.max() > told:
        raise OstrakaError(
            ErrorCode.DATA_SHAPE,
            f"{path} holds a count of {counts.max():g}, and there are {told} teachers; change --teachers.",
        )
    return told
