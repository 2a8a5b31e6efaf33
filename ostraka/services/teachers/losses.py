"""Loss functions of teacher training."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.services.teachers.assignment import Slice


class Loss:
    """Cross-entropy of several networks' records, summed; multi-label, over all their known labels."""

    def __init__(self, weights: Tensor | None = None) -> None:
        """Take weights (networks, classes) of records by class, or of labels that are 1; None: all are 1."""
        self._weights = weights

    @classmethod
    def balancing(cls, slices: Sequence[Slice], classes: int) -> "Loss":
        """Return a loss with weights from each network's own slice, proportionally larger for rare
        classes."""
        tables = np.stack([_balance(part.y, classes) for part in slices])
        return cls(torch.from_numpy(tables))

    def of(self, networks: Sequence[int]) -> "Loss":
        """Return the loss of some of the networks, in this order."""
        return self if self._weights is None else Loss(self._weights[torch.tensor(networks)])

    def at(self, place: torch.device) -> "Loss":
        """Return the same loss on a device."""
        return self if self._weights is None else Loss(self._weights.to(place))

    def __call__(self, logits: Tensor, y: Tensor) -> Tensor:
        """Sum the losses of logits (networks, N, classes) for y (networks, N) or (networks, N, labels)."""
        if y.dim() == logits.dim():
            return self._of_labels(logits, y)
        if self._weights is None:
            return functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        losses = functional.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="none")
        return (losses * self._weights.gather(1, y).flatten()).sum()

    def _of_labels(self, logits: Tensor, y: Tensor) -> Tensor:
        weights = (y != UNKNOWN).to(logits.dtype)
        if self._weights is not None:
            weights = weights * torch.where(y == 1, self._weights[:, None], 1.0)
        wanted = y.clamp(min=0).to(logits.dtype)
        return functional.binary_cross_entropy_with_logits(logits, wanted, weights, reduction="sum")


def _balance(y: NDArray[np.int64], classes: int) -> NDArray[np.float32]:
    """Return weights (classes,) that give the classes of y (N,) equal sums; for y (N, k), ones and zeros.

    A class that does not occur, or a label that is constant, keeps weight 1.
    """
    if y.ndim > 1:
        ones, zeros = ((y == value).sum(axis=0) for value in (1, 0))
        weights = np.where((ones > 0) & (zeros > 0), zeros / np.maximum(ones, 1), 1)
        return weights.astype(np.float32)
    counts = np.bincount(y, minlength=classes)
    weights = np.where(counts > 0, len(y) / (np.maximum(counts, 1) * np.count_nonzero(counts)), 1)
    return weights.astype(np.float32)
