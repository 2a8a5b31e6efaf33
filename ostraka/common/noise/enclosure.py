"""Bounds of exp(-x): doubles for whole arrays, decimals of any precision for one rational number.

docs/accounting-noise.md proves both, from what IEEE 754 guarantees for +, -, * and / in any rounding mode and
what `decimal` guarantees for `exp`; no library's floating-point exp is trusted.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SCALE_BITS = 53
"""Bits of the integers that doubles hold exactly: this many bits of a uniform number are compared first."""
CAP = 46
"""Larger exponents are treated as this one: 2^53 exp(-46) is 1e-4, far below the first of those integers."""
RELATIVE_ERROR = 2.0**-35
"""Bound of the relative error of `scaled_exp`; 2.8 times the proved bound."""
ABSOLUTE_ERROR = 2.0
"""Added to that: one for the truncated bits of a uniform number, one for exponents beyond `CAP`."""

_CELLS = 256
"""Cells per unit of an exponent. In one cell, three terms of Taylor's series have an error of 2^-36.5."""
_DIGITS = 40
"""Digits of the table's entries before they are rounded to doubles, which have 16."""
_SMALLEST = -1000
"""Power of ten below which bounds do not get closer: 2^-3300, which no uniform number comes near."""


def _table() -> Floats:
    """Return 2^53 exp(-i/256) for every cell i below `CAP`: products of 46 and 256 rounded exponentials."""
    context = Context(prec=_DIGITS)
    whole = [float(context.exp(Decimal(-unit)) * 2**SCALE_BITS) for unit in range(CAP)]
    part = [float(context.exp(Decimal(-cell) / _CELLS)) for cell in range(_CELLS)]
    return np.outer(whole, part).ravel()


_TABLE = _table()


def scaled_exp(exponents: Floats) -> Floats:
    """Return 2^53 exp(-x) of `exponents` x >= 0, with errors below `RELATIVE_ERROR` and `ABSOLUTE_ERROR`.

    The relative error also covers exponents with errors up to 2^-42. Lemma 1 of docs/accounting-noise.md.
    """
    x = np.minimum(exponents, np.nextafter(CAP, 0))
    cell = (x * _CELLS).astype(np.int32)
    rest = x - cell * (1 / _CELLS)
    # No division: on some processors its time depends on the numbers.
    series: Floats = 1 - rest * (1 - rest * 0.5 * (1 - rest * (1 / 3)))
    return _TABLE[cell] * series


def exp_bounds(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of exp(-`exponent`) that agree in about the first `digits` digits.

    The quotient is rounded in both directions; `decimal` then rounds the exponential to the nearest number,
    so the numbers next to it are bounds (Lemma 3).
    """
    numerator = Decimal(exponent.numerator)
    denominator = Decimal(exponent.denominator)
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=_SMALLEST)
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=_SMALLEST)
    least = down.exp(up.divide(numerator, denominator).copy_negate())
    most = up.exp(down.divide(numerator, denominator).copy_negate())
    return Fraction(down.next_minus(least)), Fraction(up.next_plus(most))
