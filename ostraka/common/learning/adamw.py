"""AdamW (Loshchilov and Hutter, 2019), with the fused step of torch but without its class.

Making any object of `torch.optim.Optimizer` imports torch's compiler, which takes two seconds of processor
time and is never used here.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor
from torch.optim.adamw import adamw

BETAS = (0.9, 0.999)
EPSILON = 1e-8


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
