"""Whether a network got worse on records that it does not learn from."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from common.learning.data import UNKNOWN, Labelled

_DEVIATIONS = 2.0
"""Standard errors by which a network must be worse before it counts as worse."""
_PART = 2048


class Validation:
    """A network's mistakes on the same records, again and again."""

    def __init__(self, labelled: Labelled, device: torch.device) -> None:
        """Takes scaled records."""
        self._X = torch.from_numpy(labelled.X).to(device)
        self._y = labelled.y
        self._weights = balance(labelled.y) if labelled.multi_label else None

    def mistakes(self, net: nn.Module) -> NDArray[np.float64]:
        """Each record's part in the error, (n,): 1 where its class is wrong.

        Of labels, wrong ones weighted so that the mean over records is 1 - mean balanced accuracy.
        """
        logits: NDArray[np.float32] = evaluate(net, self._X).cpu().numpy()
        if self._weights is None:
            return (logits.argmax(axis=1) != self._y).astype(np.float64)
        return (((logits >= 0) != self._y) * self._weights).sum(axis=1)


def balance(y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Weights (n, k) of labels' mistakes: those of records with a label, and without it, weigh half each."""
    weights = np.zeros(y.shape)
    for value in (0, 1):
        has = y == value
        weights += has / np.maximum(has.sum(axis=0), 1)
    outcomes = sum((y == value).any(axis=0).astype(np.float64) for value in (0, 1))
    counted = max(int(((y != UNKNOWN).any(axis=0)).sum()), 1)
    return weights / np.maximum(outcomes, 1) / counted * len(y)


def worse(mistakes: NDArray[np.float64], before: NDArray[np.float64]) -> bool:
    """Whether the mistakes (n,) are more than `before` on the same records by more than chance explains.

    The mean difference exceeds two standard errors of itself, one record more counted into them: a handful of
    records never tells (own rule; docs/students.md).
    """
    difference, n = mistakes - before, len(mistakes)
    variance = (np.square(difference).mean() + 1 / n) / n
    return bool(difference.mean() > _DEVIATIONS * math.sqrt(variance))


@torch.inference_mode()
def evaluate(net: nn.Module, X: torch.Tensor) -> torch.Tensor:
    """Logits float32 (n, outputs) of rows on the network's device, part by part."""
    training = net.training
    net.eval()
    logits = torch.cat([net(part).float() for part in torch.split(X, _PART)])
    net.train(training)
    return logits
