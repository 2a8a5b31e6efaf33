"""How well anybody can tell one record by what was released under a budget, whatever else he knows.

Both bounds follow from what an (epsilon, delta) allows a test: its false alarms, of probability a, and its
misses, of probability b, have e^epsilon a + b >= 1 - delta, and the same with a and b exchanged (Wasserman
and Zhou 2010 for delta 0; Kairouz, Oh and Viswanath 2015, theorem 2.1).
"""

import math

from ostraka.common.privacy.inputs import InputError

_FINITE_EXPONENT = 700.0
"""e^700 is finite, and times any probability that is not 0 above 1."""


def best_guess(epsilon: float, delta: float) -> float:
    """Return how often at most anybody names the right one of two equally likely versions of a record.

    Errors of both kinds add up to 2 (1 - delta) / (1 + e^epsilon) or more: the sum of both conditions.

    Raises:
        InputError: `epsilon` is negative, or `delta` no probability.
    """
    _check(epsilon, delta)
    # In e^-epsilon, which does not overflow.
    shrink = math.exp(-epsilon)
    return (1 + delta * shrink) / (1 + shrink)


def most_detected(epsilon: float, delta: float, false_alarms: float) -> float:
    """Return how often at most a test finds a record that is there.

    Args:
        epsilon: of the budget.
        delta: of the budget.
        false_alarms: how often the test reports a record that is not there, a probability.

    Raises:
        InputError: `epsilon` is negative, or `delta` or `false_alarms` no probability.
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
