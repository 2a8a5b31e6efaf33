"""How often a mechanism answers, and how often correctly, for known votes: probabilities over its noise."""

import math
from dataclasses import dataclass, field
from functools import cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import GnMax, Mechanism, PerLabel, Powerset, Threshold
from ostraka.common.mechanism.confident import CheckedArgmax
from ostraka.common.planning.search.vote_sample import VoteSample
from ostraka.common.sharing.ballots import LabelCounts
from ostraka.common.sharing.label_sets import bits_of, count_sets, index_of

Floats = NDArray[np.float64]
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(40)
_SHARES = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Forecast:
    """What to expect of the queries of a `VoteSample`.

    Attributes:
        given: probability of answering for each decision, (Q, 1), or (Q, labels) if each label has a check.
        right: probability that an answer is right if it is given, (Q, answers).
        positive: which of several labels are right, or which queries have the second of two classes, bool
            (Q, answers); None for other classes.
        alike: whether right labels of both classes have the same total weight, although one class is rare.
    """

    given: Floats = field(repr=False)
    right: Floats = field(repr=False)
    positive: NDArray[np.bool_] | None = field(default=None, repr=False)
    alike: bool = False

    @property
    def answers(self) -> float:
        """Average number of labels that a query gets."""
        return float(np.broadcast_to(self.given, self.right.shape).sum(axis=1).mean())

    @property
    def right_labels(self) -> float:
        """Average number of right labels that a query gets."""
        if self.alike:
            return self.answers * self.accuracy
        return float((self.given * self.right).sum(axis=1).mean())

    @property
    def accuracy(self) -> float:
        """The share of given labels that are right; balanced over yes and no if `positive` is set."""
        weights = np.broadcast_to(self.given, self.right.shape)
        parts = [np.ones_like(self.right)] if self.positive is None else [self.positive, ~self.positive]
        found = [_mean(self.right, weights * part) for part in parts]
        if self.alike and self.answers > 0:
            # In a class that gets no label, no label is right.
            found = np.nan_to_num(found).tolist()
        return sum(found) / len(found)


def passing(votes: Floats, threshold: float, sigma: float) -> Floats:
    """Return the probability that votes reach a threshold with noise of `sigma`."""
    from scipy.special import ndtr

    return np.asarray(ndtr((votes - threshold) / sigma), dtype=np.float64)


def winning(counts: Floats, chosen: NDArray[np.int64], sigma: float) -> Floats:
    """Return the probability (Q,) that the `chosen` class of each row has the most votes after noise.

    The integral over the noise of its own count is computed with 40 Gauss-Hermite nodes.
    """
    from scipy.special import ndtr

    rows = np.arange(len(counts))
    leads = (counts[rows, chosen][:, None] - counts) / sigma
    leads[rows, chosen] = np.inf
    others = np.ones((len(counts), len(_NODES)))
    for lead in leads.T:
        others *= ndtr(lead[:, None] + _NODES)
    return np.asarray(others @ _SHARES, dtype=np.float64)


def saying_yes(yeses: Floats, teachers: int, sigma: float) -> Floats:
    """Return the probability that votes for a label exceed those against it, each with noise of `sigma`."""
    from scipy.special import ndtr

    return np.asarray(ndtr((2 * yeses - teachers) / (np.sqrt(2) * sigma)), dtype=np.float64)


def reaching(yeses: Floats, teachers: int, share: float, sigma: float) -> Floats:
    """Return the probability that votes reach a share of all, with noise of `sigma` for and against."""
    return saying_yes(yeses + (0.5 - share) * teachers, teachers, sigma)


def _mean(values: Floats, weights: Floats) -> float:
    total = float(weights.sum())
    return float((values * weights).sum()) / total if total > 0 else float("nan")


_NOISELESS = 1e-6
"""Noise in votes that decides nothing if thresholds lie between counts."""
_DRAWS = 8
"""Number of simulated releases of each query."""
_SEED = 0
"""An arbitrary constant seed, so that a search always finds the same."""


@dataclass(frozen=True)
class LabelSetVotes:
    """Label sets with votes, and noise that only needs scaling for each sigma.

    Attributes:
        bits: bits of the sets of each query, bool (Q, sets, labels).
        counts: votes for them, float64 (Q, sets); minus infinity if a query has fewer sets.
        noise: noise of each set, of deviation 1, float64 (draws, Q, sets).
        others: the largest noise of all sets without a vote, (draws, Q).
        other_bits: bits of one set drawn at random for each of these, (draws, Q, labels).
    """

    bits: NDArray[np.bool_] = field(repr=False)
    counts: Floats = field(repr=False)
    noise: Floats = field(repr=False)
    others: Floats = field(repr=False)
    other_bits: NDArray[np.bool_] = field(repr=False)

    @classmethod
    def of(cls, ballots: NDArray[np.bool_], most: int | None) -> Self:
        """Count ballots (teachers, Q, labels), using the first `most` labels of each."""
        from scipy.special import ndtri

        labels = ballots.shape[2]
        kept = ballots if most is None else ballots & (np.cumsum(ballots, axis=2) <= most)
        found = [np.unique(sets, return_counts=True) for sets in index_of(kept).T]
        width = max(len(each) for each, _ in found)
        queries = len(found)
        sets = count_sets(labels, most)
        indices = np.zeros((queries, width), np.int64)
        counts = np.full((queries, width), -np.inf)
        for row, (each, votes) in enumerate(found):
            indices[row, : len(each)] = each
            counts[row, : len(each)] = votes
        rng = np.random.default_rng(_SEED)
        unvoted = np.array([sets - len(each) for each, _ in found])
        # The largest of n uniform draws is distributed like one draw to the power of 1/n.
        largest = rng.random((_DRAWS, queries)) ** (1 / np.maximum(unvoted, 1))
        return cls(
            bits_of(indices, labels),
            counts,
            rng.standard_normal((_DRAWS, queries, width)),
            np.where(unvoted > 0, ndtri(largest), -np.inf),
            bits_of(rng.integers(sets, size=(_DRAWS, queries)), labels),
        )

    def right(self, truth: NDArray[np.bool_], sigma: float) -> Floats:
        """Return how often each label of the set with the most noisy votes is right, (Q, labels)."""
        noisy = self.counts + sigma * self.noise
        winner = noisy.argmax(axis=2)
        unvoted = sigma * self.others > np.take_along_axis(noisy, winner[..., None], axis=2)[..., 0]
        released = np.where(unvoted[..., None], self.other_bits, self.bits[np.arange(len(truth)), winner])
        return np.asarray((released == truth).mean(axis=0), dtype=np.float64)


class Forecaster:
    """Forecasts for any searched mechanism on a sample."""

    def __init__(self, sample: VoteSample) -> None:
        self.sample = sample
        self._winning = cache(self._winning_by)
        self._clipped = cache(self._clip_to)
        self._sets = cache(self._sets_of)
        self._set_winning = cache(self._set_winning_by)

    def forecast(self, mechanism: Mechanism) -> Forecast:
        """Return how often the mechanism answers, and how often correctly."""
        if isinstance(mechanism, GnMax):
            return self._of_class(self._always, self._winning(mechanism.sigma))
        if isinstance(mechanism, Threshold):
            yes = reaching(self.sample.counts[:, 1:], self.sample.teachers, mechanism.share, mechanism.sigma)
            return self._of_class(self._always, np.where(self.sample.truth[:, None] == 1, yes, 1 - yes))
        if isinstance(mechanism, CheckedArgmax):
            given = passing(self._largest, mechanism.threshold, mechanism.sigma1)
            return self._of_class(given, self._winning(mechanism.sigma2))
        if isinstance(mechanism, PerLabel):
            return self._per_label(mechanism)
        if isinstance(mechanism, Powerset):
            return self._of_sets(mechanism)
        raise ValueError(f"mechanism {mechanism.kind} is not searched")

    def noiseless(self) -> float:
        """Return the accuracy of the majority of teachers for each query, or for each label.

        For a rare class it is the balanced accuracy at the best share of votes.
        """
        counts = self.sample.counts
        if self.sample.has_rare_class:
            # Half a vote below each count, so that the count certainly reaches the threshold.
            shares = (np.unique(counts[:, 1]) - 0.5) / self.sample.teachers
            settings = [Threshold(sigma=_NOISELESS, share=share) for share in shares if 0 < share < 1]
            return max((self.forecast(one).accuracy for one in settings), default=0.5)
        teachers = self.sample.teachers
        truth = self.sample.truth
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

    def _of_class(self, given: Floats, right: Floats) -> Forecast:
        """Return the forecast of single classes; both classes get the same weight if one is rare."""
        if not self.sample.has_rare_class:
            return Forecast(given, right)
        return Forecast(given, right, self.sample.truth[:, None] == 1, alike=True)

    @property
    def _always(self) -> Floats:
        return np.ones((len(self.sample.counts), 1))

    @property
    def _largest(self) -> Floats:
        return np.asarray(self.sample.counts.max(axis=1, keepdims=True), np.float64)

    def _winning_by(self, sigma: float) -> Floats:
        truth = self.sample.truth.astype(np.int64)
        return winning(self.sample.counts, truth, sigma)[:, None]

    def _clip_to(self, ballot: LabelCounts) -> Floats:
        ballots = self.sample.ballots
        if math.isinf(ballot.radius) or ballots is None:
            return self.sample.counts
        return ballot.count(ballots, self.sample.classes)

    def _per_label(self, mechanism: PerLabel) -> Forecast:
        teachers = self.sample.teachers
        truth = self._positive
        yeses = self._clipped(mechanism.ballot)
        yes = saying_yes(yeses, teachers, mechanism.sigma)
        check = mechanism.check
        if check is None:
            given = np.ones_like(yes)
        else:
            given = passing(np.maximum(yeses, teachers - yeses), check.threshold, check.sigma)
        return Forecast(given, np.where(truth, yes, 1 - yes), truth)

    def _of_sets(self, mechanism: Powerset) -> Forecast:
        votes = self._sets(mechanism.max_positives)
        check = mechanism.check
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
