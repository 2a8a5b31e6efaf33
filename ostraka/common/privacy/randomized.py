"""Cost of randomised labels."""

import math


def randomized_rdp(epsilon: float, classes: int, order: float) -> float:
    """Return the rdp at `order` of one label that was drawn anew by Equation 6 of Tang et al. 2022, exactly.

    log(p^a q^(1-a) + q^a p^(1-a) + (k-2) q) / (a-1) for the chance p of the true one of k classes and q of
    each other; with r = e^epsilon = p/q the sum is 1 + 4 sinh(a epsilon/2) sinh((a-1) epsilon/2) /
    (sqrt(r) + (k-1)/sqrt(r)), which keeps the digits of small costs (own derivation, docs/label-dp.md).
    """
    half = epsilon / 2
    rise = math.log(4) + _log_sinh(order * half) + _log_sinh((order - 1) * half)
    rise -= half + math.log1p((classes - 1) * math.exp(-epsilon))
    log_moment = rise + math.log1p(math.exp(-rise)) if rise > 0 else math.log1p(math.exp(rise))
    return log_moment / (order - 1)


def _log_sinh(x: float) -> float:
    return x + math.log(-math.expm1(-2 * x)) - math.log(2)
