"""Encoding of features, weights and logits modulo 2^64, and their additive shares."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.linear.linear_ring import Polynomials
from ostraka.common.crypto.logits import LOGIT_BITS, LOGIT_FRACTION

FEATURE_SCALE_BITS = 27
"""A feature is encrypted in steps of 2^-27; those of its error move a logit by 2^-25 of a weight."""
_STEP_BITS = 64 - LOGIT_BITS
LOGIT_SCALE_BITS = _STEP_BITS + LOGIT_FRACTION
"""A logit has steps of 2^-61, so that the modulus is what shares of logits wrap around, eight."""
WEIGHT_SCALE_BITS = LOGIT_SCALE_BITS - FEATURE_SCALE_BITS
"""A weight is rounded to steps of 2^-34."""


def logit_shares(values: Polynomials) -> NDArray[np.uint64]:
    """Values modulo 2^64 as the nearest shares modulo 2^LOGIT_BITS; halves go up.

    Of two values that sum to a logit the shares sum to it within a step: rounding commutes with wrapping
    around, since the steps divide the modulus.
    """
    return (values + np.uint64(2 ** (_STEP_BITS - 1))) >> np.uint64(_STEP_BITS)
