"""Canonne, Kamath and Steinke 2020, Algorithms 1 to 3, with integers and fractions only."""

import secrets
from fractions import Fraction


def bernoulli(p: Fraction) -> bool:
    return secrets.randbelow(p.denominator) < p.numerator


def bernoulli_exp(gamma: Fraction) -> bool:
    """Return True with probability exp(-gamma), gamma >= 0."""
    while gamma > 1:
        if not _bernoulli_exp_1(Fraction(1)):
            return False
        gamma -= 1
    return _bernoulli_exp_1(gamma)


def _bernoulli_exp_1(gamma: Fraction) -> bool:
    k = 1
    while bernoulli(gamma / k):
        k += 1
    return k % 2 == 1


def discrete_laplace(t: int) -> int:
    """Draw x with P(x) proportional to exp(-|x|/t)."""
    while True:
        u = secrets.randbelow(t)
        if not bernoulli_exp(Fraction(u, t)):
            continue
        v = 0
        while bernoulli_exp(Fraction(1)):
            v += 1
        negative, magnitude = bernoulli(Fraction(1, 2)), u + t * v
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(sigma: Fraction) -> int:
    """Draw x with P(x) proportional to exp(-x^2/(2 sigma^2)), `sigma` in lattice steps."""
    t = sigma.numerator // sigma.denominator + 1
    while True:
        y = discrete_laplace(t)
        if bernoulli_exp((abs(y) - sigma**2 / t) ** 2 / (2 * sigma**2)):
            return y
