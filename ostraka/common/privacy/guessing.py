"""How well anybody can identify one record from what was released under a budget, whatever else they know.

Both bounds follow from what (epsilon, delta) allows a test with false alarms of probability a and misses of
probability b: e^epsilon a + b >= 1 - delta, and the same with a and b exchanged (Wasserman and Zhou 2010 for
delta 0; Kairouz, Oh and Viswanath 2015, theorem 2.1).
"""

import math

from ostraka.common.privacy.inputs import InputError

_FINITE_EXPONENT = 700.0
"""An exponent with a finite e^700 whose product with any probability that is not 0 is above 1."""


def best_guess(epsilon: float, delta: float) -> float:
    """Return the largest probability of naming the right one of two equally likely versions of a record.

    By the sum of both conditions, errors of both kinds add up to at least 2 (1 - delta) / (1 + e^epsilon).

    Raises:
        InputError: if `epsilon` is negative, or `delta` is not a probability.
    """
    _check(epsilon, delta)
    # Computed from e^-epsilon, which does not overflow.
    shrink = math.exp(-epsilon)
    return (1 + delta * shrink) / (1 + shrink)


def most_detected(epsilon: float, delta: float, false_alarms: float) -> float:
    """Return the largest probability that a test detects a record that is present.

    Args:
        epsilon: the budget's epsilon.
        delta: the budget's delta.
        false_alarms: the probability that the test reports a record that is not present.

    Raises:
        InputError: if `epsilon` is negative, or if `delta` or `false_alarms` is not a probability.
    """
    _check(epsilon, delta)
    if not 0 <= false_alarms <= 1:
        raise InputError("false_alarms", f"must be a probability, is {false_alarms}")
    by_alarms = math.exp(min(epsilon, _FINITE_EXPONENT)) * false_alarms + delta
    by_misses = 1 - math.exp(-epsilon) * (1 - delta - false_alarms)
    return min(1.0, by_alarms, by_misses)


def _check(epsilon: float, delta: float) -> None:
    if not epsilon >= 0:
        raise InputError("epsilon", f"must be 0 or more, is {epsilon}")
    if not 0 <= delta <= 1:
        raise InputError("delta", f"must be a probability, is {delta}")
