"""Probabilities that noise changes a decision (own derivation, docs/students.md)."""

import math


def miss_probability(votes: float, teachers: int, classes: int, sigma: float) -> float:
    """Bound the probability that a class with `votes` of all votes loses if each count has noise of `sigma`.

    Among all other votes, the costliest case gives all of them to one class (convexity).
    """
    leading = min(votes, teachers)
    rival = teachers - leading
    if rival >= leading:
        return 1 - 1 / classes
    wrong = _normal_tail(leading - rival, sigma) + (classes - 2) * _normal_tail(leading, sigma)
    return min(wrong, 1 - 1 / classes)


def laplace_miss_probability(teachers: int, classes: int, gamma: float) -> float:
    """Bound the probability that a class with all votes loses with Laplace noise of scale 1/gamma votes."""
    return min((classes - 1) * _laplace_tail(teachers, gamma), 1 - 1 / classes)


def _normal_tail(lead: float, sigma: float) -> float:
    """Return the probability that the difference of two draws of `sigma` exceeds a lead."""
    return math.erfc(lead / (2 * sigma)) / 2


def _laplace_tail(lead: float, gamma: float) -> float:
    """Return the probability that the difference of two Laplace draws of scale 1/gamma exceeds a lead."""
    return math.exp(-gamma * lead) * (2 + gamma * lead) / 4
