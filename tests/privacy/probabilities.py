"""Exact probabilities of outcomes under continuous noise; the lattice changes them by less than 1e-4.

Votes are counted here a second time, independently of the code that is audited.
"""

from functools import reduce
from itertools import combinations, product
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DistributedGnMax,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
    Threshold,
)
from tests.privacy.cases import CLUSTERS, Case, Votes

Floats = NDArray[np.float64]

_STEPS = 200_000


def argmax(counts: NDArray[Any], noise: Any) -> Floats:
    """Return each count's probability of being the largest after independent draws of `noise`."""
    reach = noise.isf(1e-17)
    at = np.linspace(min(counts) - reach, max(counts) + reach, _STEPS + 1)
    below = [noise.cdf(at - count) for count in counts]
    won = [
        np.trapezoid(noise.pdf(at - count) * np.prod(below[:j] + below[j + 1 :], axis=0), at)
        for j, count in enumerate(counts)
    ]
    return np.array(won)


def gaussian(sigma: float) -> Any:
    return stats.norm(scale=sigma)


def passing(largest: Any, threshold: float, sigma: float) -> Any:
    """Return the probability that `largest` plus noise reaches the threshold."""
    return stats.norm.sf((threshold - largest) / sigma)


def outcomes(case: Case, votes: Votes) -> Floats:
    """Return the probability of every outcome, in the order of `Case.digits`."""
    match case.mechanism:
        case GnMax(sigma=sigma) | DistributedGnMax(sigma=sigma):
            return _answered(1.0, argmax(_histogram(votes, case), gaussian(sigma)))
        case LnMax(gamma=gamma):
            return _answered(1.0, argmax(_histogram(votes, case), stats.laplace(scale=1 / gamma)))
        case Confident(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            counts = _histogram(votes, case)
            passed = passing(counts.max(), threshold, sigma1)
            return _answered(passed, argmax(counts, gaussian(sigma2)))
        case Interactive(sigma1=sigma1, sigma2=sigma2, threshold=threshold):
            counts = _histogram(votes, case)
            passed = passing((counts - counts.sum() * case.scores).max(), threshold, sigma1)
            return _answered(passed, argmax(counts, gaussian(sigma2)))
        case Threshold(sigma=sigma, share=share):
            no, yes = _histogram(votes, case)
            won = stats.norm.sf(((2 * share - 1) * (no + yes) - (yes - no)) / (sqrt(2) * sigma))
            return _answered(1.0, np.array([1 - won, won]))
        case NoiseCluster(sigma=sigma):
            clusters = [
                np.bincount(votes[votes[:, 0] == c, 1], minlength=case.classes) for c in range(CLUSTERS)
            ]
            return _joint([_answered(1.0, argmax(counts, gaussian(sigma))) for counts in clusters])
        case RandRes(epsilon=epsilon):
            return _joint(
                [_plurality(votes[votes[:, 0] == q, 1], epsilon, case.classes) for q in range(CLUSTERS)]
            )
        case RandResLabels(epsilon=epsilon):
            return _joint([_majorities(votes[votes[:, 0] == q, 1:], epsilon) for q in range(CLUSTERS)])
        case Powerset():
            return _set(case.mechanism, votes, case.votes)
        case Binary(check=check) | Tau(check=check) | L1(check=check):
            clipped = np.array([_weight(case.mechanism, int((row >= 0.5).sum())) for row in votes])
            positives = (case.votes * clipped) @ (votes >= 0.5)
            totals = np.broadcast_to(case.totals(1)[0], positives.shape)
            labels = zip(positives, totals, strict=True)
            return _joint([_label(v, n, case.mechanism.sigma, check) for v, n in labels])
    raise ValueError("sums of updates are audited by tests/privacy/test_together.py")


def _histogram(votes: Votes, case: Case) -> Floats:
    return np.array([case.votes[votes == j].sum() for j in range(case.classes)])


def _answered(passed: float, answers: Floats) -> Floats:
    return np.append(1 - passed, passed * answers)


def _plurality(labels: Votes, epsilon: float, classes: int) -> Floats:
    """Return probabilities for the plurality of labels, each true as in Equation 6, else any other label.

    Tang et al. 2022.
    """
    if not len(labels):
        return np.asarray(np.eye(1 + classes)[0])
    true = np.exp(epsilon) / (np.exp(epsilon) + classes - 1)
    chances = np.zeros(classes)
    for drawn in product(range(classes), repeat=len(labels)):
        counts = np.bincount(drawn, minlength=classes)
        leading = counts == counts.max()
        each = np.where(np.array(drawn) == labels, true, (1 - true) / (classes - 1))
        chances += each.prod() * leading / leading.sum()
    return _answered(1.0, chances)


def _majorities(labels: Votes, epsilon: float) -> Floats:
    """Return probabilities for each label's majority; each record answers some labels, and coins the rest."""
    width, odds = labels.shape[1], np.exp(epsilon)
    told = [(odds - 1) / (odds + 2**drawn - 1) for drawn in range(1, width + 1)]
    drawn = 1 + int(np.argmax([(1 + place) * chance**2 for place, chance in enumerate(told)]))
    chances = np.zeros((3,) * width)
    for given in product(*(_answers(row, drawn, told[drawn - 1]) for row in labels)):
        chance = np.prod([one for one, _ in given])
        answers = np.array([answer for _, answer in given]).reshape(-1, width)
        chances += chance * _outer([_majority(column[column >= 0]) for column in answers.T])
    return chances.ravel()


def _answers(labels: Votes, drawn: int, told: float) -> list[tuple[float, tuple[int, ...]]]:
    """Return the possible answers of a record, -1 for a label that is not drawn, with their probabilities."""
    subsets = list(combinations(range(len(labels)), drawn))
    found = []
    for subset in subsets:
        for bits in product((0, 1), repeat=drawn):
            given = dict(zip(subset, bits, strict=True))
            true = all(labels[label] == bit for label, bit in given.items())
            chance = ((1 - told) / 2**drawn + told * true) / len(subsets)
            found.append((chance, tuple(given.get(label, -1) for label in range(len(labels)))))
    return found


def _majority(bits: Votes) -> Floats:
    """Return probabilities of no answer, no, yes; ties broken evenly."""
    yeses = 2 * bits.sum() - len(bits)
    return _answered(float(len(bits) > 0), np.array([yeses < 0, yeses > 0]) + 0.5 * (yeses == 0))


def _outer(marginals: list[Floats]) -> Floats:
    return np.asarray(reduce(np.multiply.outer, marginals))


def _joint(marginals: list[Floats]) -> Floats:
    return _outer(marginals).ravel()


def _weight(mechanism: Binary | Tau | L1, yeses: int) -> float:
    match mechanism:
        case Tau(tau=tau):
            return min(1.0, tau / sqrt(max(yeses, 1)))
        case L1(tau1=tau1):
            return min(1.0, tau1 / max(yeses, 1))
    return 1.0


def _label(positives: float, total: float, sigma: float, check: Check | None) -> Floats:
    """Return probabilities of no answer, no, yes."""
    negatives = total - positives
    yes = stats.norm.cdf((positives - negatives) / (sqrt(2) * sigma))
    passed = 1.0 if check is None else passing(max(positives, negatives), check.threshold, check.sigma)
    return _answered(passed, np.array([1 - yes, yes]))


def _set(mechanism: Powerset, votes: Votes, weights: Floats) -> Floats:
    labels = votes.shape[1]
    most = labels if mechanism.max_positives is None else mechanism.max_positives
    sets = [frozenset(c) for size in range(most + 1) for c in combinations(range(labels), size)]
    chosen = [_chosen(row, most) for row in votes]
    counts = np.array([weights[[choice == one for choice in chosen]].sum() for one in sets])
    check = mechanism.check
    passed = 1.0 if check is None else passing(counts.max(), check.threshold, check.sigma)
    chances = np.zeros((3,) * labels)
    chances[(0,) * labels] = 1 - passed
    for one, won in zip(sets, argmax(counts, gaussian(mechanism.sigma)), strict=True):
        chances[tuple(2 if label in one else 1 for label in range(labels))] = passed * won
    return chances.ravel()


def _chosen(scores: Votes, most: int) -> frozenset[int]:
    yeses = [label for label, score in enumerate(scores) if score >= 0.5]
    return frozenset(sorted(yeses, key=lambda label: -scores[label])[:most])


def divergence(p: Floats, r: Floats, order: float) -> float:
    """Return D_order(p || r)."""
    possible = p > 0
    logs = order * np.log(p[possible]) + (1 - order) * np.log(r[possible])
    return float(np.logaddexp.reduce(logs) / (order - 1))


def exact_epsilon(p: Floats, r: Floats, delta: float) -> float:
    """Return the smallest epsilon at `delta` of two outcome distributions, by bisection."""
    low, high = 0.0, 64.0
    for _ in range(50):
        middle = (low + high) / 2
        over = max(np.maximum(a - np.exp(middle) * b, 0).sum() for a, b in ((p, r), (r, p)))
        low, high = (middle, high) if over > delta else (low, middle)
    return high
