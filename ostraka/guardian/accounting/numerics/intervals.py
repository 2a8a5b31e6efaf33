"""Interval arithmetic on arrays of doubles: every result contains the exact result for all numbers within.

Sums, products, quotients and square roots are rounded to the nearest double (IEEE 754) and moved one double
outwards. The logarithms and exponentials of the C library and SciPy are assumed to be within a relative error
of `LIBRARY`: about thirty times the measured error (docs/accounting-smooth.md).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_ndtr

from ostraka.guardian.accounting.numerics.arguments import Floats

LIBRARY = 2.0**-46
"""Assumed relative error of log, log1p, exp, expm1 and log_ndtr."""


@dataclass(frozen=True)
class Interval:
    """Numbers that each lie somewhere from `low` to `high`, arrays of one shape; NaN where undefined."""

    low: Floats
    high: Floats

    @classmethod
    def of(cls, values: ArrayLike) -> Interval:
        """Return the interval that contains exactly these doubles."""
        exact = np.asarray(values, dtype=np.float64)
        return cls(exact, exact)

    def __add__(self, other: Interval | float) -> Interval:
        by = _interval(other)
        return _outwards(self.low + by.low, self.high + by.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval | float) -> Interval:
        return self + -_interval(other)

    def __mul__(self, other: Interval | float) -> Interval:
        by = _interval(other)
        ends = [self.low * by.low, self.low * by.high, self.high * by.low, self.high * by.high]
        return _outwards(np.minimum.reduce(ends), np.maximum.reduce(ends))

    def __truediv__(self, other: Interval | float) -> Interval:
        """Return an interval that contains every quotient; NaN where a divisor may be 0."""
        by = _interval(other)
        ends = [self.low / by.low, self.low / by.high, self.high / by.low, self.high / by.high]
        defined = (by.low > 0) | (by.high < 0)
        least = np.minimum.reduce(ends)
        most = np.maximum.reduce(ends)
        return _outwards(np.where(defined, least, np.nan), np.where(defined, most, np.nan))

    def sqrt(self) -> Interval:
        """Return an interval that contains every square root; NaN where one may be undefined."""
        return _outwards(np.sqrt(self.low), np.sqrt(self.high))

    def log(self) -> Interval:
        """Return an interval that contains every logarithm; NaN where one may be undefined."""
        return self._rising(np.log)

    def log1p(self) -> Interval:
        """Return an interval that contains log(1 + x) of every x; NaN where one may be undefined."""
        return self._rising(np.log1p)

    def exp(self) -> Interval:
        """Return an interval that contains every exponential."""
        return self._rising(np.exp)

    def log_ndtr(self) -> Interval:
        """Return an interval that contains the log of the normal distribution function at every number."""
        return self._rising(log_ndtr)

    def log1mexp(self) -> Interval:
        """Return an interval that contains log(1 - e^x) of every x < 0; NaN where one may be undefined."""
        near = (-self._rising(np.expm1)).log()
        far = (-self.exp()).log1p()
        small = self.high > -1
        return Interval(np.where(small, near.low, far.low), np.where(small, near.high, far.high))

    def logaddexp(self, other: Interval) -> Interval:
        """Return an interval that contains log(e^x + e^y) of every x and y."""
        return Interval(_log_add(self.low, other.low).low, _log_add(self.high, other.high).high)

    def minimum(self, other: Interval | float) -> Interval:
        """Return an interval that contains the smaller of every two numbers."""
        by = _interval(other)
        return Interval(np.minimum(self.low, by.low), np.minimum(self.high, by.high))

    def _rising(self, function: Callable[[Floats], Floats]) -> Interval:
        low = function(self.low)
        high = function(self.high)
        return _outwards(low - LIBRARY * np.abs(low), high + LIBRARY * np.abs(high))


def _interval(value: Interval | float) -> Interval:
    return value if isinstance(value, Interval) else Interval.of(value)


def _log_add(x: Floats, y: Floats) -> Interval:
    least = Interval.of(np.minimum(x, y))
    most = Interval.of(np.maximum(x, y))
    return most + (least - most).exp().log1p()


def _outwards(low: NDArray[np.float64], high: NDArray[np.float64]) -> Interval:
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))
