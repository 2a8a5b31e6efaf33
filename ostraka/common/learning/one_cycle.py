"""The one-cycle schedule (Smith and Topin, 2018), as `torch.optim.lr_scheduler.OneCycleLR` has it."""

import math
from dataclasses import dataclass

_RISING = 0.3
"""Part of the steps in which the rate rises."""
_FIRST, _LAST = 25.0, 25.0 * 1e4
"""What the highest rate is divided by in the first and in the last step."""
_MOMENTUM, _LEAST_MOMENTUM = 0.95, 0.85
"""Where the rate is lowest, and where it is highest."""


@dataclass(frozen=True)
class OneCycle:
    """A rate that rises to its highest and falls along half cosines, and a momentum that does the converse.

    Attributes:
        highest: rate.
        steps: how many there are, at least 2.
    """

    highest: float
    steps: int

    def at(self, step: int) -> tuple[float, float]:
        """Return rate and momentum in a step, counted from 0."""
        top = _RISING * self.steps - 1
        first, last = self.highest / _FIRST, self.highest / _LAST
        if step <= top:
            part = step / top
            return _between(first, self.highest, part), _between(_MOMENTUM, _LEAST_MOMENTUM, part)
        part = (step - top) / (self.steps - 1 - top)
        return _between(self.highest, last, part), _between(_LEAST_MOMENTUM, _MOMENTUM, part)


def _between(start: float, end: float, part: float) -> float:
    """Return where half a cosine from `start` to `end` is after this part of it."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part))
