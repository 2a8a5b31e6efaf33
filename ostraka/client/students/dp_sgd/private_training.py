"""DP-SGD (Abadi et al. 2016): Poisson batches, every record's gradient clipped, noise on each batch's sum."""

from collections.abc import Callable
from typing import Any

import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import Tensor, nn

from ostraka.client.students.dp_sgd.calibration import Noise
from ostraka.client.students.dp_sgd.system_noise import gaussian, poisson_sample
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.average import MovingAverage
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.losses import losses

_ROUNDING = 1.001
"""By how much the noise exceeds what is accounted for: sums in single precision are off by less."""
_GRADIENTS = 2**25
"""Numbers of records' gradients that are in memory at once."""
_REPORTED = 10
"""Steps between two calls of progress."""


class PrivateOptimizer(DPOptimizer):  # type: ignore[misc]
    """Opacus' clipping of gradients, with noise of the operating system's generator."""

    def clip_and_accumulate(self) -> None:
        """Add up the clipped gradients; what is no number counts as 0, so that clipping bounds all."""
        for p in self.params:
            p.grad_sample = torch.nan_to_num(p.grad_sample, nan=0.0, posinf=0.0, neginf=0.0)
        super().clip_and_accumulate()
        for p in self.params:
            p.grad_sample = None

    def add_noise(self) -> None:
        """Set the gradients: the sum, of no records 0, with its noise, by the expected number."""
        deviation = _ROUNDING * self.noise_multiplier * self.max_grad_norm
        for p in self.params:
            noise = torch.from_numpy(deviation * gaussian(p.numel())).view(p.shape).to(p.device)
            summed = torch.zeros_like(p) if p.summed_grad is None else p.summed_grad.view_as(p)
            p.grad = ((summed.double() + noise) / self.expected_batch_size).to(p.dtype)
            p.summed_grad = None


def train_privately(
    net: nn.Module,
    X: Tensor,
    targets: Tensor,
    noise: Noise,
    clip: float,
    learning: Learning,
    *,
    multi_label: bool,
    progress: Callable[[int, int], None],
) -> nn.Module:
    """Return the average of a network's weights over the steps of a training, on the CPU.

    Nothing but `noise.steps` noised sums is seen of the records: no loss is looked at, and the weights are
    those of the last step.

    Args:
        net: of rows to logits, no layer of which mixes records; it is trained.
        X: records, float32 (N, F).
        targets: soft targets, float32 (N, outputs); of labels also UNKNOWN.
        noise: of every step.
        clip: norm to which a record's gradient is clipped.
        learning: the rate, the average and the device.
        multi_label: whether outputs are labels, not classes.
        progress: told how many steps are done, and of how many.

    Raises:
        OstrakaError: `model.diverged` where weights became no numbers.
    """
    X, targets, net = X.to(learning.place), targets.to(learning.place), net.to(learning.place).train()
    average = MovingAverage(net, learning.ema)
    by_record = GradSampleModule(net, loss_reduction="sum")
    learned = [p for p in net.parameters() if p.requires_grad]
    optimizer = PrivateOptimizer(
        torch.optim.AdamW(learned, weight_decay=learning.weight_decay),
        noise_multiplier=noise.multiplier,
        max_grad_norm=clip,
        expected_batch_size=noise.rate * len(X),
        loss_reduction="sum",
    )
    at_once = max(1, _GRADIENTS // sum(p.numel() for p in learned))
    for step in range(noise.steps):
        rows = torch.from_numpy(poisson_sample(len(X), noise.rate)).to(learning.place)
        for part in torch.split(rows, at_once) if len(rows) else ():
            logits = by_record(X[part].requires_grad_())
            _backward(losses(logits, targets[part], multi_label=multi_label).sum())
            optimizer.clip_and_accumulate()
        optimizer.add_noise()
        for group in optimizer.param_groups:
            group["lr"] = learning.rate(step, noise.steps)
        optimizer.original_optimizer.step()
        average.follow(step)
        if (step + 1) % _REPORTED == 0:
            progress(step + 1, noise.steps)
    progress(noise.steps, noise.steps)
    return _finite(average.net.cpu().eval())


def _backward(loss: Any) -> None:
    loss.backward()


def _finite(net: nn.Module) -> nn.Module:
    """Return the network; whether its weights are numbers is a function of noised sums alone."""
    if all(p.isfinite().all() for p in net.parameters()):
        return net
    raise OstrakaError(
        ErrorCode.MODEL_DIVERGED,
        "The student's weights became no numbers: train it again with a smaller learning rate.",
    )
