"""Forecasts of mechanisms on one sample of votes, each computed once."""

import math
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import GnMax, Mechanism, PerLabel, Powerset
from ostraka.common.mechanism.confident import CheckedArgmax
from ostraka.common.planning.search.forecast import Floats, Forecast, passing, saying_yes, winning
from ostraka.common.planning.search.label_set_votes import LabelSetVotes
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.sharing.ballots import LabelCounts


class Forecaster:
    """Forecasts any mechanism that is searched on a sample."""

    def __init__(self, sample: VoteSample) -> None:
        """Take the votes; nothing is computed yet."""
        self.sample = sample
        self._winning = cache(self._winning_by)
        self._clipped = cache(self._clipped_to)
        self._sets = cache(self._sets_of)
        self._set_winning = cache(self._set_winning_by)

    def forecast(self, mechanism: Mechanism) -> Forecast:
        """Return how often the mechanism answers, and rightly."""
        if isinstance(mechanism, GnMax):
            return Forecast(self._always, self._winning(mechanism.sigma))
        if isinstance(mechanism, CheckedArgmax):
            given = passing(self._largest, mechanism.threshold, mechanism.sigma1)
            return Forecast(given, self._winning(mechanism.sigma2))
        if isinstance(mechanism, PerLabel):
            return self._per_label(mechanism)
        if isinstance(mechanism, Powerset):
            return self._of_sets(mechanism)
        raise ValueError(f"mechanism {mechanism.kind} is not searched")

    def noiseless(self) -> float:
        """Return the accuracy of what most teachers say of each query, or of each label."""
        counts, teachers, truth = self.sample.counts, self.sample.teachers, self.sample.truth
        if not self.sample.multi_label:
            return float((counts.argmax(axis=1) == truth).mean())
        right = ((2 * counts > teachers) == truth).astype(np.float64)
        return Forecast(np.ones_like(right), right, truth.astype(np.bool_)).accuracy

    def ballots(self, mechanism: Mechanism) -> Floats:
        """Return the sums of ballots (Q, width) as the mechanism counts them."""
        if isinstance(mechanism, PerLabel):
            return self._clipped(mechanism.ballot)
        if isinstance(mechanism, Powerset) and self.sample.ballots is not None:
            return np.asarray(mechanism.ballot.count(self.sample.ballots, self.sample.classes), np.float64)
        return self.sample.counts

    @property
    def _always(self) -> Floats:
        return np.ones((len(self.sample.counts), 1))

    @property
    def _largest(self) -> Floats:
        return np.asarray(self.sample.counts.max(axis=1, keepdims=True), np.float64)

    def _winning_by(self, sigma: float) -> Floats:
        truth = self.sample.truth.astype(np.int64)
        return winning(self.sample.counts, truth, sigma)[:, None]

    def _clipped_to(self, ballot: LabelCounts) -> Floats:
        ballots = self.sample.ballots
        if math.isinf(ballot.radius) or ballots is None:
            return self.sample.counts
        return ballot.count(ballots, self.sample.classes)

    def _per_label(self, mechanism: PerLabel) -> Forecast:
        teachers, truth = self.sample.teachers, self._positive
        yeses = self._clipped(mechanism.ballot)
        yes = saying_yes(yeses, teachers, mechanism.sigma)
        check = mechanism.check
        if check is None:
            given = np.ones_like(yes)
        else:
            given = passing(np.maximum(yeses, teachers - yeses), check.threshold, check.sigma)
        return Forecast(given, np.where(truth, yes, 1 - yes), truth)

    def _of_sets(self, mechanism: Powerset) -> Forecast:
        votes, check = self._sets(mechanism.max_positives), mechanism.check
        given = self._always
        if check is not None:
            given = passing(votes.counts.max(axis=1, keepdims=True), check.threshold, check.sigma)
        right = self._set_winning(mechanism.max_positives, mechanism.sigma)
        return Forecast(given, right, self._positive)

    def _set_winning_by(self, most: int | None, sigma: float) -> Floats:
        return self._sets(most).right(self._positive, sigma)

    def _sets_of(self, most: int | None) -> LabelSetVotes:
        ballots = self.sample.ballots
        if ballots is None:
            raise ValueError("votes for label sets are made of ballots")
        return LabelSetVotes.of(ballots, most)

    @property
    def _positive(self) -> NDArray[np.bool_]:
        return self.sample.truth.astype(np.bool_)
