"""Bounds of exp(-x): doubles for whole arrays, decimals of any precision for one rational number.

docs/accounting-noise.md proves both, from what IEEE 754 says of +, -, * and / in any rounding mode and what
`decimal` says of `exp`; no library's floating-point exp is trusted.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

SCALE_BITS = 53
"""Bits of the integers that doubles hold exactly: so many of a uniform number are compared first."""
CAP = 46
"""Exponents count as no larger: 2^53 exp(-46) is 1e-4, far below the first of those integers."""
RELATIVE_ERROR = 2.0**-35
"""Bound of what `scaled_exp` is off by, of its value; 2.8 times what is proved."""
ABSOLUTE_ERROR = 2.0
"""Added to that: one for the bits of a uniform number that are cut off, one for exponents beyond `CAP`."""

_CELLS = 256
"""Cells of an exponent's unit. Within one, three terms of Taylor's series leave 2^-36.5."""
_DIGITS = 40
"""Of the table's entries before they are rounded to doubles, which have 16."""
_SMALLEST = -1000
"""The power of ten from which on bounds are no closer: 2^-3300, which no uniform number gets near."""


def _table() -> Floats:
    """Return 2^53 exp(-i/256) for every cell i below `CAP`: products of 46 and 256 rounded exponentials."""
    context = Context(prec=_DIGITS)
    whole = [float(context.exp(Decimal(-unit)) * 2**SCALE_BITS) for unit in range(CAP)]
    part = [float(context.exp(Decimal(-cell) / _CELLS)) for cell in range(_CELLS)]
    return np.outer(whole, part).ravel()


_TABLE = _table()


def scaled_exp(exponents: Floats) -> Floats:
    """Return 2^53 exp(-x) of `exponents` x >= 0, within `RELATIVE_ERROR` of itself and `ABSOLUTE_ERROR`.

    The relative error also covers exponents that are off by up to 2^-42. Lemma 1 of docs/accounting-noise.md.
    """
    x = np.minimum(exponents, np.nextafter(CAP, 0))
    cell = (x * _CELLS).astype(np.int32)
    rest = x - cell * (1 / _CELLS)
    # No division: on some processors its time depends on the numbers.
    series: Floats = 1 - rest * (1 - rest * 0.5 * (1 - rest * (1 / 3)))
    return _TABLE[cell] * series


def exp_bounds(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of exp(-`exponent`), whose first `digits` digits or so agree.

    The quotient is rounded either way; `decimal` then rounds the exponential to the nearest, so that the
    numbers next to it are bounds (Lemma 3).
    """
    numerator = Decimal(exponent.numerator)
    denominator = Decimal(exponent.denominator)
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=_SMALLEST)
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=_SMALLEST)
    least = down.exp(up.divide(numerator, denominator).copy_negate())
    most = up.exp(down.divide(numerator, denominator).copy_negate())
    return Fraction(down.next_minus(least)), Fraction(up.next_plus(most))
