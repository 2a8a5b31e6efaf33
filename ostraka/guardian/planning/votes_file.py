"""Simulated votes from a file."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ostraka.common.planning.candidate import Candidate
from ostraka.common.planning.search.vote_sample import (
    count_voters,
    finite,
    read_arrays,
    read_counts,
    wrong_shape,
)

SCORES = "scores"


@dataclass(frozen=True)
class Votes:
    """Simulated ballots, for predictions; they are not real votes.

    Attributes:
        counts: sums of ballots as the mechanism counts them, float64 (queries, width).
        teachers: number of voters.
        scores: the prediction of an interactive plan's student, float64 (queries, classes).
    """

    counts: NDArray[np.float64]
    teachers: int
    scores: NDArray[np.float64] | None = None

    def first(self, queries: int) -> "Votes":
        """Return the votes on the first `queries`, or on all if there are fewer."""
        scores = None if self.scores is None else self.scores[:queries]
        return replace(self, counts=self.counts[:queries], scores=scores)


def read_votes(path: Path, candidate: Candidate, teachers: int | None) -> Votes:
    """Votes of a .npy file, or `votes` and `scores` of an .npz file.

    Single-label histograms imply the number of teachers. Raises `data.*` for a file that cannot be read or
    whose shape or contents do not fit the mechanism.
    """
    arrays = read_arrays(path)
    mechanism = candidate.mechanism
    counts = read_counts(arrays, path, mechanism.width(candidate.classes))
    scores = None
    if mechanism.takes_scores:
        scores = finite(arrays.get(SCORES), path, SCORES)
        if scores.shape != (len(counts), candidate.classes):
            raise wrong_shape(path, SCORES, f"{len(counts)} x {candidate.classes}", scores)
    if mechanism.by_record:
        voted = int(counts.sum())
    else:
        voted = count_voters(path, counts, teachers, several=mechanism.multi_label)
    return Votes(counts, voted, scores)
