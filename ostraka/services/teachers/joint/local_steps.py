"""Local steps of one teacher in a round: corrected gradient steps.

Dodwadmath and Stich 2022, Algorithm 1.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector

from ostraka.common.learning.shape import image_axes
from ostraka.common.mechanism import Recipe
from ostraka.services.teachers.batches import Schedule, batches
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.joint.joint_networks import move
from ostraka.services.teachers.joint.record_gradients import sum_of_clipped
from ostraka.services.teachers.joint.updates import STEPS
from ostraka.services.teachers.losses import Loss
from ostraka.services.teachers.slices import Slice


def step_on(
    net: nn.Module,
    batches: Iterator[tuple[Tensor, Tensor]],
    rate: float,
    correction: Tensor,
    radius: float | None,
) -> None:
    """Move a network's parameters once for each batch (lines 6 to 9).

    Args:
        net: starts at the average.
        batches: records (1, batch, *shape) and their classes.
        rate: eta_f of this round.
        correction: c - c_i, (d,).
        radius: what each record's gradient is clipped to, where variates are made of clipped ones too.
    """
    for X, y in batches:
        slope = _mean(net, X, y) if radius is None else _mean_clipped(net, X[0], y[0], radius)
        move(net, -rate * (slope + correction))


def drawn(
    part: Slice,
    number: int,
    recipe: Recipe,
    model: str,
    config: TrainingConfig,
    device: torch.device,
    *,
    moved: bool,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield a teacher's batches in a round, from its own slice by its own entropy and the round's number.

    Images are moved and turned as configured, where `moved`.
    """
    entropy = (*part.entropy, number)
    order = np.random.default_rng(entropy).permutation(len(part.y))
    rows = np.resize(order, recipe.steps * recipe.batch_size)
    axes = image_axes(part.X.shape[1:])
    usual = Schedule.of([len(rows)], model, axes, config)
    schedule = dataclasses.replace(usual, steps=recipe.steps, batch=recipe.batch_size)
    if not moved:
        schedule = dataclasses.replace(schedule, shift=0, rotate=0.0)
    return batches([Slice(part.X[rows], part.y[rows], entropy)], schedule, axes, device)


def _mean(net: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    """Return the mean gradient (d,) of a batch of one teacher, (1, batch, ...)."""
    loss = Loss()(net(X[0])[None], y) / y.shape[1]
    mean: Tensor = parameters_to_vector(torch.autograd.grad(loss, list(net.parameters())))
    return mean


def _mean_clipped(net: nn.Module, X: Tensor, y: Tensor, radius: float) -> Tensor:
    """Return the mean of the clipped gradients (d,) of a batch (batch, ...)."""
    steps = sum_of_clipped(net, X, y, radius)
    mean: Tensor = steps.double() * (radius / (STEPS * len(y)))
    return mean.to(X.dtype)
