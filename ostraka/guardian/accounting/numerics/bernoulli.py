"""The divergence of one noisy bit: whether a number with Gaussian noise exceeds a threshold."""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.numerics.moments import log_moments
from ostraka.guardian.accounting.numerics.normal import log_cdf_step

_BEYOND = 12.0
_WIDEST_STEP = 0.25
_ROUNDING = 2.0**-46


def bit_rdp(centre: Floats, shift: Floats, orders: Floats) -> Floats:
    """Return the rdp (2, R, C) between Bernoulli(Phi(centre)) and Bernoulli(Phi(centre + shift)).

    Args:
        centre: how far the number lies above the threshold, in deviations of its noise, (C,).
        shift: how far a neighbour moves it, in the same unit, (C,).
        orders: Renyi orders (R,), above 1.

    Returns:
        First the divergence of the centre from the shifted one, then the other direction.
    """
    log_p = np.stack([log_ndtr(centre), log_ndtr(-centre)])
    change = np.stack([log_cdf_step(centre, shift), log_cdf_step(-centre, -shift)])
    moments = log_moments(log_p, change, np.concatenate([1 - orders, orders]))
    known = np.maximum(np.nan_to_num(moments, nan=np.inf), 0.0)
    return np.asarray(known.reshape(2, len(orders), -1) / (orders - 1)[:, None], dtype=np.float64)


def bit_error(step: float, reach: Floats) -> Floats:
    """Bound the error of a bit's log probabilities, its number lying within `reach` deviations.

    Nothing for continuous noise (`step` 0, in deviations), infinite for steps so wide that nothing is
    proved. Proved in docs/accounting-multilabel.md.
    """
    if step == 0:
        return np.zeros_like(reach)
    far = reach + _BEYOND
    discrete = np.where(step * far <= _WIDEST_STEP, (step * (far + 1)) ** 2 / 2, np.inf)
    return np.asarray(discrete + _ROUNDING * (1 + reach**2), dtype=np.float64)
