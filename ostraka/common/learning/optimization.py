"""AdamW (Loshchilov and Hutter, 2019), with the fused step of torch but without its class.

Making any object of `torch.optim.Optimizer` imports torch's compiler, which takes two seconds of processor
time and is never used here.
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
"""As torch's own AdamW has them unless told otherwise."""


class AdamW:
    """What `torch.optim.AdamW(..., fused=True)` does to parameters, its rate told at each step."""

    def __init__(self, parameters: Iterable[Tensor], weight_decay: float) -> None:
        """Take the parameters, on their device, and the decay for a rate of 1."""
        self._parameters = list(parameters)
        self._weight_decay = weight_decay
        self._moments: dict[int, dict[str, Tensor]] = {}

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self, rate: float, beta1: float = BETAS[0]) -> None:
        """Change every parameter that has a gradient; `beta1` is how much of the mean gradient stays."""
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
        """Return what is remembered of each parameter, named "row/name"."""
        return {f"{row}/{name}": value for row, each in self._moments.items() for name, value in each.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Remember what another one of the same parameters did."""
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
"""What the highest rate is divided by in the first step."""
_LAST = _FIRST * 1e4
"""What it is divided by in the last step."""
_MOMENTUM = 0.95
"""Where the rate is lowest."""
_MIN_MOMENTUM = 0.85
"""Where the rate is highest."""


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
        first = self.highest / _FIRST
        last = self.highest / _LAST
        if step <= top:
            part = step / top
            return _between(first, self.highest, part), _between(_MOMENTUM, _MIN_MOMENTUM, part)
        part = (step - top) / (self.steps - 1 - top)
        return _between(self.highest, last, part), _between(_MIN_MOMENTUM, _MOMENTUM, part)


def _between(start: float, end: float, part: float) -> float:
    """Return where half a cosine from `start` to `end` is after this part of it."""
    return end + (start - end) / 2 * (1 + math.cos(math.pi * part))


class MovingAverage:
    """A network whose weights follow another's, each step a little."""

    def __init__(self, net: nn.Module, decay: float) -> None:
        """Start as the network is; `decay` is the part of the average that a step keeps in the end."""
        self.net = copy.deepcopy(net)
        """The average."""
        self._decay = decay
        self._own = _numbers(self.net)
        self._owned = _numbers(net)
        self._counts = list(zip(_counts(self.net), _counts(net), strict=True))

    @torch.no_grad()
    def follow(self, step: int) -> None:
        """Move towards the network after a step, counted from 0: keep less in the first ones."""
        # TensorFlow's rule (tf.train.ExponentialMovingAverage): first weights are random, and soon forgotten.
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
