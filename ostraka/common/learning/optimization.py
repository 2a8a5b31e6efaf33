"""AdamW (Loshchilov and Hutter, 2019), with torch's fused step but without torch's class.

Creating any `torch.optim.Optimizer` imports torch's compiler, which takes two seconds of processor time and
is never used here.
"""

import copy
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw

BETAS = (0.9, 0.999)
EPSILON = 1e-8
"""torch's defaults for AdamW."""


class AdamW:
    """The update of `torch.optim.AdamW(..., fused=True)`, with the rate given at each step."""

    def __init__(self, parameters: Iterable[Tensor], weight_decay: float) -> None:
        """Take the parameters, on their device, and the decay for a rate of 1."""
        self._parameters = list(parameters)
        self._weight_decay = weight_decay
        self._moments: dict[int, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Clear all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float, beta1: float = BETAS[0]) -> None:
        """Update every parameter with a gradient; `beta1` is the part of the mean gradient that is kept."""
        learned = {
            row: (parameter, parameter.grad)
            for row, parameter in enumerate(self._parameters)
            if parameter.grad is not None
        }
        moments = [self._of(row) for row in learned]
        adamw(
            [parameter for parameter, _ in learned.values()],
            [gradient for _, gradient in learned.values()],
            [each["exp_avg"] for each in moments],
            [each["exp_avg_sq"] for each in moments],
            [],
            [each["step"] for each in moments],
            fused=True,
            amsgrad=False,
            beta1=beta1,
            beta2=BETAS[1],
            lr=rate,
            weight_decay=self._weight_decay,
            eps=EPSILON,
            maximize=False,
        )

    def tensors(self) -> dict[str, Tensor]:
        """Return the stored moments of each parameter, named "row/name"."""
        return {f"{row}/{name}": value for row, each in self._moments.items() for name, value in each.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the moments of another instance with the same parameters."""
        self._moments = {}
        for key, value in tensors.items():
            row, _, name = key.partition("/")
            place = self._parameters[int(row)].device
            self._moments.setdefault(int(row), {})[name] = value.to(place)

    def _of(self, row: int) -> dict[str, Tensor]:
        if row not in self._moments:
            parameter = self._parameters[row]
            self._moments[row] = {
                "step": torch.zeros((), device=parameter.device),
                "exp_avg": torch.zeros_like(parameter, memory_format=torch.preserve_format),
                "exp_avg_sq": torch.zeros_like(parameter, memory_format=torch.preserve_format),
            }
        return self._moments[row]


_RISING = 0.3
"""Part of the steps in which the rate rises."""
# These are the defaults of `torch.optim.lr_scheduler.OneCycleLR`.
_FIRST = 25.0
"""Divisor of the highest rate in the first step."""
_LAST = _FIRST * 1e4
"""Divisor of the highest rate in the last step."""
_MOMENTUM = 0.95
"""Momentum at the lowest rate."""
_MIN_MOMENTUM = 0.85
"""Momentum at the highest rate."""


@dataclass(frozen=True)
class OneCycle:
    """A rate that rises to its highest and falls along half cosines, and a momentum that does the opposite.

    Attributes:
        highest: the highest rate.
        steps: number of steps, at least 2.
    """

    highest: float
    steps: int

    def at(self, step: int) -> tuple[float, float]:
        """Return rate and momentum in a step, counted from 0."""
        top = _RISING * self.steps - 1
        first = self.highest / _FIRST
        last = self.highest / _LAST
        if step <= top:
            part = step / top
            return _between(first, self.highest, part), _between(_MOMENTUM, _MIN_MOMENTUM, part)
        part = (step - top) / (self.steps - 1 - top)
        return _between(self.highest, last, part), _between(_MIN_MOMENTUM, _MOMENTUM, part)


def _between(start: float, end: float, part: float) -> float:
    """Return the value of half a cosine from `start` to `end` after this part of it."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


class MovingAverage:
    """A network whose weights follow another network's, a little at each step."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        """Start with the network's weights; `decay` is the part of the average that a late step keeps."""
        self.net = copy.deepcopy(net)
        """The average."""
        self._decay = decay
        self._own = _numbers(self.net)
        self._owned = _numbers(net)
        self._counts = list(zip(_counts(self.net), _counts(net), strict=True))

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Move towards the network after a step, counted from 0; keep less in the first steps."""
        # TensorFlow's rule (tf.train.ExponentialMovingAverage): the random first weights are soon forgotten.
        decay = min(self._decay, (1 + step) / (10 + step))
        torch._foreach_lerp_(self._own, self._owned, 1 - decay)
        for own, count in self._counts:
            own.copy_(count)


def _numbers(net: nn.Module) -> list[Tensor]:
    return [value for value in _state(net) if value.is_floating_point()]


def _counts(net: nn.Module) -> list[Tensor]:
    return [value for value in _state(net) if not value.is_floating_point()]


def _state(net: nn.Module) -> list[Tensor]:
    return [value.detach() for value in (*net.parameters(), *net.buffers())]
