"""The lattice that votes, thresholds and noise share."""

from __future__ import annotations

import math

from ostraka.common.sharing.fixed_point import FRACTION_BITS

LATTICE = 2.0**-FRACTION_BITS
"""One lattice step, in votes."""


def lattice_scale(sigma: float) -> float:
    """Return `sigma` votes in lattice steps; exact, because a step is a power of two.

    Raises ValueError where sigma is not a finite number above 0.
    """
    if not 0 < sigma < math.inf:
        raise ValueError(f"sigma: must be a finite number above 0, is {sigma}")
    return math.ldexp(sigma, FRACTION_BITS)
