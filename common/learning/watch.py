"""When a network has learnt what it can, and which of its states is kept."""

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from common.learning.data import Labelled
from common.learning.learning import Look
from common.learning.validation import Validation, worse


class Watch:
    """Looks at a network on validation records; without any it only takes notes."""

    def __init__(self, validation: Labelled | None, patience: int, device: torch.device) -> None:
        """Takes scaled records that are not learned from."""
        known = validation is not None and len(validation) > 0
        self._validation = Validation(validation, device) if validation is not None and known else None
        self._patience = patience
        self.looks: list[Look] = []
        self.waited = 0
        """Looks in a row at which the network was worse than at its best."""
        self.best: dict[str, Tensor] = {}
        self.best_step = 0
        self.best_mistakes: NDArray[np.float64] | None = None

    @property
    def enough(self) -> bool:
        """Whether the network was worse for as long as patience goes."""
        return self.waited >= self._patience

    def look(self, net: nn.Module, step: int) -> float | None:
        """The error on the validation records after a step; None where there are none."""
        if self._validation is None:
            return None
        mistakes = self._validation.mistakes(net)
        if self.best_mistakes is None or mistakes.mean() <= self.best_mistakes.mean():
            self.best = copy.deepcopy(net.state_dict())
            self.best_step, self.best_mistakes = step, mistakes
        self.waited = self.waited + 1 if worse(mistakes, self.best_mistakes) else 0
        return float(mistakes.mean())

    def keep(self, net: nn.Module) -> int:
        """Gives the network its best weights where it ended worse; the step at which it had those it has."""
        if self.waited:
            net.load_state_dict(self.best)
            return self.best_step
        return self.looks[-1].step
