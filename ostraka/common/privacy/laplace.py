"""The Renyi divergence of the discrete Laplace mechanism."""

import math

_LARGE = 30.0
_NEAR = 1e-3
_ROUNDING = 1e-12


def laplace_rdp(order: float, shift: float, step: float) -> float:
    """Return the cost of a count that is released with Laplace noise on a lattice.

    With q = e^-step, shift a multiple of step and a the order, summing q^(a |k| + (1 - a) |k - shift/step|)
    over k gives ((1 - q^(2a)) e^((a-1) shift) + (q - q^(2a-1)) e^(-a shift)) / ((1 + q) (1 - q^(2a-1))): the
    lattice's form of Mironov 2017, Proposition 6 (own derivation, docs/accounting-mechanisms.md).

    Args:
        order: Renyi order, above 1.
        shift: what a unit moves the count by, in scales of the noise.
        step: of the lattice, in scales of the noise; 0 for continuous noise.
    """
    up, down = _weights(order, step)
    rise = (order - 1) * shift
    if rise > _LARGE:
        log_moment = math.log(up) + rise + math.log1p(down / up * math.exp(-rise - order * shift))
    else:
        drift = shift * (up * (order - 1) - down * order)
        log_moment = math.log1p(up * _beyond_line(rise) + down * _beyond_line(-order * shift) + drift)
    return log_moment / (order - 1) * (1 + _ROUNDING) + _ROUNDING * shift


def _weights(order: float, step: float) -> tuple[float, float]:
    """Return what the exponentials that grow and that fall with the shift count; together 1."""
    if step == 0:
        return order / (2 * order - 1), (order - 1) / (2 * order - 1)
    whole = (1 + math.exp(-step)) * -math.expm1(-(2 * order - 1) * step)
    up = -math.expm1(-2 * order * step) / whole
    return up, -math.exp(-step) * math.expm1(-2 * (order - 1) * step) / whole


def _beyond_line(x: float) -> float:
    """Return e^x - 1 - x, with its digits also where x is small."""
    if abs(x) < _NEAR:
        return x * x / 2 * (1 + x / 3 * (1 + x / 4 * (1 + x / 5)))
    return math.expm1(x) - x
