"""Clipping of multi-label ballots to a norm."""

from __future__ import annotations

import math


def l1_radius(tau1: float) -> float:
    """Return the largest L2 norm of a ballot of zeros and ones scaled by min(1, tau1/its L1 norm).

    With m positives the norm is sqrt(m) up to tau1 and tau1/sqrt(m) beyond, so it is largest at one of the
    whole numbers next to tau1. Own derivation. Raises ValueError where tau1 is not a finite number above 0.
    """
    if not 0 < tau1 < math.inf:
        raise ValueError(f"tau1: must be a finite number above 0, is {tau1}")
    largest = max(math.sqrt(math.floor(tau1)), tau1 / math.sqrt(math.ceil(tau1)))
    return min(largest, math.sqrt(tau1))
