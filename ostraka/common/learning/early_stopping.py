"""Early stopping, and the choice of the weights that are kept."""

import copy
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ostraka.common.learning.data import Labelled
from ostraka.common.learning.holdout import Validation, worse
from ostraka.common.learning.learning import Look
from ostraka.common.learning.state import Part


class EarlyStopping:
    """Looks at a network on validation records; without any it only takes notes."""

    def __init__(self, validation: Labelled | None, patience: int, device: torch.device) -> None:
        """Take scaled records that are not learned from."""
        known = validation is not None and len(validation) > 0
        self._validation = Validation(validation, device) if validation is not None and known else None
        self._patience = patience
        self.looks: list[Look] = []
        self._waited = 0
        """Looks in a row at which the network was worse than at its best."""
        self._best: Part = {}
        self._best_step = 0
        self._best_mistakes: NDArray[np.float64] | None = None

    @property
    def enough(self) -> bool:
        """Whether the network was worse for as long as patience goes."""
        return self._waited >= self._patience

    def look(self, net: nn.Module, step: int) -> float | None:
        """Return the error on the validation records after a step; None where there are none."""
        if self._validation is None:
            return None
        mistakes = self._validation.mistakes(net)
        if self._best_mistakes is None or mistakes.mean() <= self._best_mistakes.mean():
            self._best = copy.deepcopy(net.state_dict())
            self._best_step, self._best_mistakes = step, mistakes
        self._waited = self._waited + 1 if worse(mistakes, self._best_mistakes) else 0
        return float(mistakes.mean())

    def keep(self, net: nn.Module) -> int:
        """Give the network its best weights where it ended worse; return the step at which it had them."""
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
        """Resume from what `state` returned."""
        self.looks = [Look(**look) for look in notes["looks"]]
        self._waited, self._best_step = notes["waited"], notes["best_step"]
        if "best" in parts:
            self._best, self._best_mistakes = parts["best"], parts["best_mistakes"]["of_each"].numpy()
