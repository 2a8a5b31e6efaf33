"""Probabilities from a regression's scores, calibrated on own labelled records (Platt 1999)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import Target, sigmoid, softmax

SLOPE = 4.0
"""Slope of a logit by a regression's score s, without own records: for two classes sigmoid(4 s) is about 1/2
+ s."""
MIN_RECORDS = 10
"""Minimum of own records for fitting a slope: with fewer, the fit follows chance."""
WORTH = 5.0
"""Weight, in own records, of the prior for the usual slope and for intercepts of 0."""
WIDEST = 7.0
"""Bound on the change of the slope's logarithm: a factor of a thousand, because noise can make a network's
scores that much too large."""


@dataclass(frozen=True)
class Calibration:
    """Logits are `slope` times scores, plus `intercepts` (k,); fitted to `records` records."""

    slope: float
    intercepts: Floats = field(repr=False)
    records: int = 0


def plain_calibration(outputs: int, slope: float) -> Calibration:
    """Return the calibration without own records, which has the default slope."""
    return Calibration(slope, np.zeros(outputs))


def calibrate(scores: Floats, y: NDArray[np.number], target: Target, usual: float) -> Calibration:
    """Return the most likely calibration of scores (n, k) of records that the model has not used.

    Without calibration, logits are `usual` times the scores, and may be too confident, or not enough. With
    several labels, each one gets an intercept; with classes, the order of the scores does not change.
    """
    from scipy.optimize import minimize

    several = target.loss == "logistic" and target.outputs > 1
    k = scores.shape[1]

    def loss_with_penalty(parameters: Floats) -> float:
        logits = usual * np.exp(parameters[0]) * scores + (parameters[1:] if several else 0.0)
        return _loss(logits, y, target) + WORTH * float((parameters**2).sum()) / 2

    start = np.zeros(1 + k if several else 1)
    bounds = [(-WIDEST, WIDEST)] * len(start)
    found = minimize(loss_with_penalty, start, method="L-BFGS-B", bounds=bounds).x
    return Calibration(
        float(usual * np.exp(found[0])), np.asarray(found[1:]) if several else np.zeros(k), len(scores)
    )


def _loss(logits: Floats, y: NDArray[np.number], target: Target) -> float:
    """Return the negative log-likelihood of labels."""
    if target.loss == "softmax":
        shares = softmax(logits)[np.arange(len(y)), y.astype(np.int64)]
        return -float(np.log(np.maximum(shares, np.finfo(np.float64).tiny)).sum())
    signs = 2 * np.asarray(y, np.float64).reshape(logits.shape) - 1
    return -float(np.log(np.maximum(sigmoid(signs * logits), np.finfo(np.float64).tiny)).sum())
