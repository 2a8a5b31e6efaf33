"""DP-SGD (Abadi et al. 2016): Poisson batches, every record's gradient clipped, noise on each batch's sum."""

import copy
import math
import secrets
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from opacus import GradSampleModule
from opacus.grad_sample.linear import compute_linear_grad_sample
from opacus.grad_sample.utils import register_grad_sampler
from opacus.optimizers import DPOptimizer
from opacus.validators import ModuleValidator
from torch import Tensor, nn
from torch.nn.modules.dropout import _DropoutNd

from ostraka.client.students.dp_sgd.guarantee import Noise
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.factories import words_of
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import losses
from ostraka.common.learning.optimization import MovingAverage
from ostraka.common.learning.precision import LogitLayer

# Opacus needs this: LogitLayer is a linear layer, but of another class.
register_grad_sampler(LogitLayer)(compute_linear_grad_sample)

_BITS = 64


def gaussian(values: int) -> NDArray[np.float64]:
    """Return independent standard Gaussians (values,), by Box and Muller (1958).

    Each pair takes 128 bits, so no value is larger than 9.5, and about 1e-20 of the mass is cut off.
    """
    pairs = (values + 1) // 2
    radii = np.sqrt(-2 * np.log(_uniform(pairs)))
    angles = 2 * math.pi * _uniform(pairs)
    return np.concatenate([radii * np.cos(angles), radii * np.sin(angles)])[:values]


def poisson_sample(records: int, rate: float) -> NDArray[np.int64]:
    """Return the rows of a batch, rising: each record is in it with probability `rate`."""
    return np.flatnonzero(_bits(records) < math.floor(rate * 2**_BITS))


def _uniform(values: int) -> NDArray[np.float64]:
    """Return numbers in (0, 1]: the midpoints of 2^64 equal intervals."""
    return np.asarray((_bits(values) + 0.5) / 2.0**_BITS, np.float64)


def _bits(values: int) -> NDArray[np.uint64]:
    return np.frombuffer(secrets.token_bytes(_BITS // 8 * values), dtype=np.uint64)


_ROUNDING = 1.001
"""Factor by which the noise exceeds the accounted noise; errors of sums in single precision are smaller."""
_GRADIENTS = 2**25
"""Numbers in the per-record gradients that are in memory at once: 128 MiB in single precision."""
_REPORTED = 10
"""Steps between two calls of `progress`."""


class PrivateOptimizer(DPOptimizer):  # type: ignore[misc]
    """Opacus' clipping of gradients, with noise from the operating system's generator."""

    def clip_and_accumulate(self) -> None:
        """Add up the clipped gradients; NaN and infinities count as 0, so clipping bounds everything."""
        for p in self.params:
            p.grad_sample = torch.nan_to_num(p.grad_sample, nan=0.0, posinf=0.0, neginf=0.0)
        super().clip_and_accumulate()
        for p in self.params:
            p.grad_sample = None

    def add_noise(self) -> None:
        """Set the gradients: the sum (0 without records) plus noise, divided by the expected batch size."""
        deviation = _ROUNDING * self.noise_multiplier * self.max_grad_norm
        for p in self.params:
            noise = torch.from_numpy(deviation * gaussian(p.numel())).view(p.shape)
            summed = torch.zeros_like(p) if p.summed_grad is None else p.summed_grad.view_as(p)
            # On the CPU, where the noise is drawn: some GPUs have no float64.
            noised = (summed.cpu().double() + noise) / self.expected_batch_size
            p.grad = noised.to(p.dtype).to(p.device)
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
    """Train a network; return the average of its weights over the steps, on the CPU.

    The result depends on the records only through `noise.steps` noised sums: no loss is looked at, and the
    weights are those of the last step.

    Args:
        net: maps rows to logits; none of its layers mixes records. It is trained in place.
        X: records, float32 (N, F).
        targets: soft targets, float32 (N, outputs); for labels also UNKNOWN.
        noise: the noise of every step.
        clip: norm to which a record's gradient is clipped.
        learning: learning rate, averaging and device.
        multi_label: whether outputs are labels, not classes.
        progress: called with the steps done and their total.

    Raises:
        OstrakaError: `model.diverged` if weights are not finite.
    """
    X = X.to(learning.place)
    targets = targets.to(learning.place)
    net = net.to(learning.place).train()
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
    """Return the network; checking that its weights are finite reveals only noised sums."""
    if all(p.isfinite().all() for p in net.parameters()):
        return net
    raise OstrakaError(
        ErrorCode.MODEL_DIVERGED,
        "The student's weights became no numbers: train it again with a smaller learning rate.",
    )


_RECORDS = 3
"""Number of test records: two suffice to find a layer that mixes records, and each costs one pass."""
_TOLERANCE = 1e-3
"""Relative tolerance for equal gradients: float32 sums in another order differ by far less, and a layer that
mixes records makes them differ by far more."""


def check_layers(net: nn.Module, features: int) -> None:
    """Raise `model.invalid` unless per-record gradients can be clipped; name the layer if one is the cause.

    Opacus knows some layers that mix records. In addition, its gradients for three records at once must be
    equal to those of each record alone, and the network may keep nothing of its input except in its weights.
    """
    for name, layer in net.named_modules():
        validator = ModuleValidator.VALIDATORS.get(type(layer))
        if validator is not None and validator(layer):
            raise _refusal(f"its layer {name or type(layer).__name__} is a {type(layer).__name__}")
    if not any(p.requires_grad for p in net.parameters()):
        raise _refusal("it has no weights to train")
    tried = _without_chance(net)
    before = {name: value.clone() for name, value in tried.named_buffers()}
    try:
        _together(copy.deepcopy(net).cpu().train(), features)
        own = _alone(tried, features)
        together = _together(copy.deepcopy(tried), features)
    except OstrakaError:
        raise
    except Exception as exc:
        raise _refusal(f"Opacus finds no gradients of its records ({words_of(exc)})") from exc
    for name, gradients in own.items():
        if name not in together or not torch.allclose(gradients, together[name], rtol=_TOLERANCE, atol=1e-5):
            raise _refusal(f"the gradient of its {name} is of several records, or differs from time to time")
    if kept := [name for name, value in tried.named_buffers() if not torch.equal(value, before[name])]:
        raise _refusal(f"its {kept[0]} keeps something of the records")


def _without_chance(net: nn.Module) -> nn.Module:
    """Return a copy on the CPU whose dropout layers drop nothing."""
    tried = copy.deepcopy(net).cpu().train()
    for layer in tried.modules():
        if isinstance(layer, _DropoutNd):
            layer.p = 0.0
    return tried


def _alone(net: nn.Module, features: int) -> dict[str, Tensor]:
    """Return the gradients of each record alone, (records, ...), by name of the weight."""
    weights = {name: p for name, p in net.named_parameters() if p.requires_grad}
    each = [
        torch.autograd.grad(_loss(net, row[None]), list(weights.values()), allow_unused=True)
        for row in _waves(features)
    ]
    found = {}
    for name, gradients in zip(weights, zip(*each, strict=True), strict=True):
        if any(one is None for one in gradients):
            raise _refusal(f"its {name} has no part in what it says")
        found[name] = torch.stack(gradients)
    return found


def _together(net: nn.Module, features: int) -> dict[str, Tensor]:
    """Return the same gradients as Opacus computes them for all records at once."""
    by_record = GradSampleModule(net, loss_reduction="sum")
    _loss(by_record, _waves(features).requires_grad_()).backward()  # type: ignore[no-untyped-call]
    return {name: vars(p)["grad_sample"] for name, p in net.named_parameters() if p.requires_grad}


def _loss(net: nn.Module, X: Tensor) -> Tensor:
    """Return a sum over records that depends on every logit, whatever the initial weights are."""
    logits: Tensor = net(X)
    return (logits.square() / 2 + logits * torch.arange(1, logits.shape[1] + 1)).sum()


def _waves(features: int) -> Tensor:
    """Return deterministic records that differ, (records, features)."""
    return torch.linspace(-9.0, 9.0, _RECORDS * features).sin().view(_RECORDS, features)


def _refusal(why: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.MODEL_INVALID,
        f"The network cannot be trained by DP-SGD, as {why}: take the network that the student makes by "
        "itself, or one whose layers treat each record by itself, such as with GroupNorm for BatchNorm.",
    )
