"""Probabilities from a regression's scores, fitted on own labelled records (Platt 1999)."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ostraka.common.sums.feature_map import Floats
from ostraka.common.sums.questions import Target, sigmoid, softmax

SLOPE = 4.0
"""Of a logit by a regression's score s, without own records: of two classes sigmoid(4 s) is about 1/2 + s."""
MIN_RECORDS = 10
"""Own records without which the usual slope is better than a fitted one: with fewer it follows chance."""
WORTH = 5.0
"""Own records that the belief in the usual slope, and in intercepts of 0, is worth."""
WIDEST = 7.0
"""Of the logarithm of the slope, by how much it may differ from the usual one: a thousand times, as noise can
make the scores of a network that much too large."""


@dataclass(frozen=True)
class Calibration:
    """Logits are `slope` times scores, plus `intercepts` (k,); of so many `records`."""

    slope: float
    intercepts: Floats = field(repr=False)
    records: int = 0


def plain_calibration(outputs: int, slope: float) -> Calibration:
    """Return the calibration without own records: the default slope of such scores."""
    return Calibration(slope, np.zeros(outputs))


def calibrate(scores: Floats, y: NDArray[np.number], target: Target, usual: float) -> Calibration:
    """Return the likeliest calibration of scores (n, k) of records that the model has not seen.

    Scores whose logits are the `usual` slope times them may turn out surer, or less sure, than they ought to.
    Of several labels each gets an intercept; of classes the scores' order stays as it is.
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
    """Return the negative logarithm of the likelihood of labels."""
    if target.loss == "softmax":
        shares = softmax(logits)[np.arange(len(y)), y.astype(np.int64)]
        return -float(np.log(np.maximum(shares, np.finfo(np.float64).tiny)).sum())
    signs = 2 * np.asarray(y, np.float64).reshape(logits.shape) - 1
    return -float(np.log(np.maximum(sigmoid(signs * logits), np.finfo(np.float64).tiny)).sum())
