"""Early stopping by the loss on held-out records, and the choice of the final weights."""

import copy
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.learning.checkpoint import Part
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.learning import Look

_DEVIATIONS = 2.0
"""Number of standard errors by which a network must be worse before it counts as worse."""
_PART = 2048
"""Number of rows that are evaluated together; the outputs of a layer for all of them are in memory."""


class Validation:
    """A network's mistakes on the same records, measured repeatedly."""

    def __init__(self, labelled: Labelled, device: torch.device) -> None:
        self._X = torch.from_numpy(labelled.X).to(device)
        self._y = labelled.y
        self._weights = balance(labelled.y) if labelled.multi_label else None

    def mistakes(self, net: nn.Module) -> NDArray[np.float64]:
        """Return each record's part in the error, (n,): 1 if its class is wrong.

        For labels, wrong ones are weighted so that the mean over records is 1 - mean balanced accuracy.
        """
        logits: NDArray[np.float32] = evaluate(net, self._X).cpu().numpy()
        if self._weights is None:
            return np.asarray(logits.argmax(axis=1) != self._y, np.float64)
        wrong = np.not_equal(logits >= 0, self._y)
        return np.asarray((wrong * self._weights).sum(axis=1), np.float64)


def balance(y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return weights (n, k) of labels' mistakes whose sums over k have the mean 1 - mean balanced accuracy.

    For each label, the records with it and the records without it have half of the weight each; if only one
    kind exists, it has all of it. UNKNOWN has no weight.
    """
    counts = np.stack([(y == value).sum(axis=0) for value in (0, 1)])
    outcomes = (counts > 0).sum(axis=0)
    labels = max(int((outcomes > 0).sum()), 1)
    share = len(y) / (np.maximum(counts, 1) * np.maximum(outcomes, 1) * labels)
    return np.where(y == UNKNOWN, 0.0, np.where(y == 1, share[1], share[0]))


def worse(mistakes: NDArray[np.float64], before: NDArray[np.float64]) -> bool:
    """Whether the mistakes (n,) exceed `before` on the same records by more than chance explains.

    The mean difference must exceed two standard errors, computed with one more record, so that a handful of
    records never suffices (own rule; docs/students.md).
    """
    difference = mistakes - before
    n = len(mistakes)
    variance = (np.square(difference).mean() + 1 / n) / n
    return bool(difference.mean() > _DEVIATIONS * math.sqrt(variance))


@torch.inference_mode()
def evaluate(net: nn.Module, X: torch.Tensor) -> torch.Tensor:
    """Return logits float32 (n, outputs) of rows on the network's device, part by part."""
    training = net.training
    net.eval()
    logits = torch.cat([net(part).float() for part in torch.split(X, _PART)])
    net.train(training)
    return logits


class EarlyStopping:
    """Evaluates a network on validation records; without any it only takes notes."""

    def __init__(self, validation: Labelled | None, patience: int, device: torch.device) -> None:
        known = validation is not None and len(validation) > 0
        self._validation = Validation(validation, device) if validation is not None and known else None
        self._patience = patience
        self.looks: list[Look] = []
        self._waited = 0
        """Number of looks in a row at which the network was worse than at its best."""
        self._best: Part = {}
        self._best_step = 0
        self._best_mistakes: NDArray[np.float64] | None = None

    @property
    def enough(self) -> bool:
        """Whether the network was worse for as long as the patience allows."""
        return self._waited >= self._patience

    def look(self, net: nn.Module, step: int) -> float | None:
        """Return the error on the validation records after a step; None if there are none."""
        if self._validation is None:
            return None
        mistakes = self._validation.mistakes(net)
        if self._best_mistakes is None or mistakes.mean() <= self._best_mistakes.mean():
            self._best = copy.deepcopy(net.state_dict())
            self._best_step = step
            self._best_mistakes = mistakes
        self._waited = self._waited + 1 if worse(mistakes, self._best_mistakes) else 0
        return float(mistakes.mean())

    def keep(self, net: nn.Module) -> int:
        """Give the network its best weights if it ended worse; return the step at which it had them."""
        if self._waited:
            net.load_state_dict(dict(self._best))
            return self._best_step
        return self.looks[-1].step

    def state(self) -> tuple[dict[str, Any], dict[str, Part]]:
        """Return the notes, and the tensors of the network at its best."""
        looks = [asdict(look) for look in self.looks]
        notes = {"waited": self._waited, "best_step": self._best_step, "looks": looks}
        if self._best_mistakes is None:
            return notes, {}
        mistakes = {"of_each": torch.from_numpy(self._best_mistakes)}
        return notes, {"best": self._best, "best_mistakes": mistakes}

    def resume(self, notes: Mapping[str, Any], parts: Mapping[str, Part]) -> None:
        """Resume from the result of `state`."""
        self.looks = [Look(**look) for look in notes["looks"]]
        self._waited = notes["waited"]
        self._best_step = notes["best_step"]
        if "best" in parts:
            self._best = parts["best"]
            self._best_mistakes = parts["best_mistakes"]["of_each"].numpy()
