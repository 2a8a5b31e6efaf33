"""Known error rate of a mechanism's labels, for students that smooth labels by it."""

import math

from ostraka.common.mechanism import (
    L1,
    Binary,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    Powerset,
    RandRes,
    Tau,
)


def known_error(mechanism: Mechanism, teachers: int, classes: int) -> float:
    """Return the probability of a wrong label that the plan alone tells, of each label or of the class.

    RandRes: exactly the probability of another class, for a label that one party holds (001, Equation 6).
    All others: how often noise turns the teachers' decision into another where as many agree as the plan asks
    for: `threshold` where there is a check, else all of them. It bounds the noise's part in the error from
    above for queries with so many votes, and says nothing of teachers that are wrong, nor of a query that
    passed its check by noise with fewer votes. 0 where nothing is known: NoiseCluster and trainings.

    Args:
        mechanism: of the released labels.
        teachers: votes scheduled for a query, n.
        classes: classes k, or labels.

    Own derivation; docs/students.md proves it.
    """
    match mechanism:
        case RandRes():
            return 1 - mechanism.truth(classes)
        case GnMax(sigma=sigma):
            return _lost(teachers, teachers, classes, sigma)
        case Confident(sigma2=sigma, threshold=threshold) | Interactive(sigma2=sigma, threshold=threshold):
            return _lost(threshold, teachers, classes, sigma)
        case LnMax(gamma=gamma):
            return min((classes - 1) * _laplace_tail(teachers, gamma), 1 - 1 / classes)
        case Binary(sigma=sigma, check=check) | Tau(sigma=sigma, check=check) | L1(sigma=sigma, check=check):
            return _lost(teachers if check is None else check.threshold, teachers, 2, sigma)
        case Powerset(sigma=sigma, check=check):
            most = teachers if check is None else check.threshold
            return min(_lost(most, teachers, mechanism.width(classes), sigma), 0.5)
    return 0.0


def _lost(votes: float, teachers: int, classes: int, sigma: float) -> float:
    """Bound the probability that a class with `votes` of all loses once every count has noise of `sigma`.

    Of all ways to vote otherwise the costliest gives all other votes to one class (convexity).
    """
    ahead = min(votes, teachers)
    rival = teachers - ahead
    if rival >= ahead:
        return 1 - 1 / classes
    lost = _normal_tail(ahead - rival, sigma) + (classes - 2) * _normal_tail(ahead, sigma)
    return min(lost, 1 - 1 / classes)


def _normal_tail(lead: float, sigma: float) -> float:
    """Probability that the difference of two draws of `sigma` exceeds a lead."""
    return math.erfc(lead / (2 * sigma)) / 2


def _laplace_tail(lead: float, gamma: float) -> float:
    """Probability that the difference of two Laplace draws of scale 1/gamma exceeds a lead."""
    return math.exp(-gamma * lead) * (2 + gamma * lead) / 4
