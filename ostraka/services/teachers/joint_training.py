"""One round of joint training of a party's teachers (Dodwadmath and Stich 2022, Algorithm 1, lines 4 to
13)."""

import copy
import dataclasses
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST, Device, is_out_of_memory
from ostraka.common.learning.factories import invalid_model
from ostraka.common.learning.record_gradients import (
    FAILURES,
    STEPS,
    require_gradients,
    sum_of_clipped,
    take_each_record,
    tell,
)
from ostraka.common.learning.shape import image_axes
from ostraka.common.mechanism import JointTraining, Recipe
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.batches import Schedule, batches
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import compose, limit_logits
from ostraka.services.teachers.guard import device_gone
from ostraka.services.teachers.layouts.layouts import run_each, threads
from ostraka.services.teachers.losses import Loss
from ostraka.services.teachers.networks import AsImages, Scaler, Square
from ostraka.services.teachers.updates import Floats, clip_update, plain

take_each_record(AsImages, Scaler, Square)

Vector = NDArray[np.float32]
T = TypeVar("T")


def first(model: str, shape: tuple[int, ...], classes: int, seed: int) -> nn.Module:
    """Return a network whose initial weights depend only on the seed; its scaler is the identity.

    Raises:
        OstrakaError: `model.invalid` if the model cannot be built, or has state besides its parameters.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence(seed).generate_state(1)[0]))
        net = compose(model, shape, classes)
    if next(net.get_submodule("1").buffers(), None) is not None:
        raise invalid_model(model, "keeps more than parameters, which teachers cannot learn together")
    return net


def vector(net: nn.Module) -> Vector:
    """Return all parameters of a network (d,), in the order of `parameters()`."""
    flat: Vector = parameters_to_vector(net.parameters()).detach().cpu().numpy()
    return flat


def set_vector(net: nn.Module, theta: Vector) -> None:
    """Set a network's parameters to these (d,)."""
    device = next(net.parameters()).device
    vector_to_parameters(torch.from_numpy(theta.copy()).to(device), net.parameters())


@torch.no_grad()
def move(net: nn.Module, by: Tensor) -> None:
    """Add a vector (d,) to all parameters."""
    vector_to_parameters(parameters_to_vector(net.parameters()) + by, net.parameters())


def step_on(
    net: nn.Module,
    batches: Iterator[tuple[Tensor, Tensor]],
    rate: float,
    correction: Tensor,
    radius: float | None,
) -> None:
    """Update a network's parameters once per batch (lines 6 to 9).

    Args:
        net: starts at the average.
        batches: records (1, batch, *shape) and their classes.
        rate: eta_f of this round.
        correction: c - c_i, (d,).
        radius: clipping radius of each record's gradient, if variates use clipped gradients too.
    """
    for X, y in batches:
        slope = _mean(net, X, y) if radius is None else _mean_clipped(net, X[0], y[0], radius)
        move(net, -rate * (slope + correction))


def draw_batches(
    part: Slice,
    number: int,
    recipe: Recipe,
    model: str,
    config: TrainingConfig,
    device: torch.device,
    *,
    moved: bool,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield a teacher's batches in a round, from its own slice, by its entropy and the round's number.

    If `moved`, images are shifted and rotated as configured.
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
    steps = sum_of_clipped(net, X, y, radius, Loss())
    mean: Tensor = steps.double() * (radius / (STEPS * len(y)))
    return mean.to(X.dtype)


@dataclass(frozen=True)
class RoundInput:
    """The lead's message for a round.

    Attributes:
        theta: the average's parameters, (d,).
        c: its control variate, (d,).
        number: number of rounds released before.
    """

    theta: Vector = field(repr=False)
    c: Vector = field(repr=False)
    number: int


def first_parameters(model: str, shape: tuple[int, ...], classes: int, seed: int) -> Vector:
    """Return the initial parameters (d,), flat in the order of `parameters()`.

    Raises:
        OstrakaError: `model.invalid` if the model cannot be built, or cannot be trained jointly.
    """
    return vector(first(model, shape, classes, seed))


class JointTeachers:
    """The teachers of one party; results depend only on a call's arguments and the party's records.

    Records are used as the task prepares them: with a scaler fitted to a slice, one record would change the
    contribution of every record of the slice.
    """

    def __init__(
        self,
        parts: Sequence[Slice],
        model: str,
        classes: int,
        config: TrainingConfig,
        recipe: Recipe,
        device: Device = HOST,
    ) -> None:
        """Take each teacher's records and the training settings; train on the first place of a device.

        Raises:
            OstrakaError: `model.invalid` if the model cannot be trained jointly, `config.invalid` for
                settings that only apply to separate training.
        """
        require_usable(config)
        self._parts = parts
        self._model = model
        self._config = config
        self._recipe = recipe
        self._device = device
        self._place = device.first
        # Copied for every teacher, so a network is built and checked once.
        self._net = first(model, parts[0].X.shape[1:], classes, seed=0).to(self._place)

    def update(
        self, mechanism: JointTraining, round: RoundInput, variates: Vector
    ) -> tuple[NDArray[np.int64], Vector]:
        """Return the party's update in lattice steps (d,), and its teachers' next variates (teachers, d).

        Args:
            mechanism: what is released, and how updates are clipped.
            round: the teachers' start.
            variates: their control variates c_i, zeros in the first round.
        """
        radius = mechanism.gradient_radius
        if radius is not None:
            return self._gradients(radius, round)
        learnt = [
            theta - round.theta.astype(np.float64) for theta in self._learnt(mechanism, round, variates)
        ]
        total = np.sum(learnt, axis=0)
        clip = mechanism.update_radius
        steps = plain(total) if clip is None else clip_update(total, clip)
        way = self._recipe.steps * self._rate(round)
        after = [own - round.c - one / way for own, one in zip(variates, learnt, strict=True)]
        return steps, np.stack(after).astype(np.float32)

    def finish(self, mechanism: JointTraining, round: RoundInput, variates: Vector) -> list[nn.Module]:
        """Return the teachers after their last local steps: networks in evaluation mode on the CPU."""
        learnt = self._learnt(mechanism, round, variates)
        nets = [self._at(theta.astype(np.float32)).cpu().eval() for theta in learnt]
        if self._config.head is not None:
            for net, part in zip(nets, self._parts, strict=True):
                limit_logits(net, part.X, multi_label=part.y.ndim > 1)
        return nets

    def _gradients(self, radius: float, round: RoundInput) -> tuple[NDArray[np.int64], Vector]:
        """Sum all records' clipped gradients at the average; also return the mean of each teacher's own."""

        def work(part: Slice) -> NDArray[np.int64]:
            return self._compute(sum_clipped, part)

        def sum_clipped(part: Slice) -> NDArray[np.int64]:
            X, y = (torch.from_numpy(array).to(self._place) for array in (part.X, part.y))
            net = self._at(round.theta)
            require_gradients(net, X, y, self._model, Loss())
            steps: NDArray[np.int64] = sum_of_clipped(net, X, y, radius, Loss()).cpu().numpy()
            return steps

        sums = run_each(work, self._parts, self._workers)
        means = [radius * one / (STEPS * len(part.y)) for one, part in zip(sums, self._parts, strict=True)]
        return np.sum(sums, axis=0), np.stack(means).astype(np.float32)

    def _learnt(self, mechanism: JointTraining, round: RoundInput, variates: Vector) -> list[Floats]:
        """Return each teacher's parameters (d,) after its local steps; the average's if that fails.

        It fails if they are not numbers or the network raises: a record must not decide whether a party
        participates. Raises `server.device_gone` if the device fails, whatever the records.
        """
        radius = mechanism.gradient_radius

        def work(teacher: int) -> Floats:
            try:
                theta = self._compute(partial(learnt, teacher), self._parts[teacher])
            except FAILURES as exc:
                if isinstance(exc, OstrakaError) and exc.code is ErrorCode.SERVER_DEVICE_GONE:
                    raise
                tell(exc)
                theta = round.theta
            return (theta if np.isfinite(theta).all() else round.theta).astype(np.float64)

        def learnt(teacher: int, part: Slice) -> Vector:
            net = self._at(round.theta)
            correction = torch.from_numpy(round.c - variates[teacher]).to(self._place)
            shown = draw_batches(
                part,
                round.number,
                self._recipe,
                self._model,
                self._config,
                self._place,
                moved=radius is None,
            )
            step_on(net, shown, self._rate(round), correction, radius)
            return vector(net)

        return run_each(work, range(len(self._parts)), self._workers)

    def _compute(self, work: Callable[[Slice], T], part: Slice) -> T:
        """Run `work` on a part; repeat it once if memory was short, but suffices for zeros instead.

        Raises what `work` raises, and `server.device_gone` if the device fails whatever the records:
        otherwise a party that learned nothing would silently add nothing, and be charged for it.
        """
        try:
            return work(part)
        except FAILURES as exc:
            # They keep memory, which may be the memory that was short.
            traceback.clear_frames(exc.__traceback__)
            short = is_out_of_memory(exc)
            try:
                self._device.probe()
                if short:
                    work(_blank(part))
            except FAILURES as cause:
                raise device_gone(type(exc).__name__) from cause
            if not short:
                raise
        return work(part)

    def _at(self, theta: Vector) -> nn.Module:
        """Return a copy of the network with these parameters (d,)."""
        net = copy.deepcopy(self._net)
        set_vector(net, theta)
        return net

    def _rate(self, round: RoundInput) -> float:
        """Return eta_f of a round."""
        return self._recipe.learning_rate * self._recipe.decay**round.number

    @property
    def _workers(self) -> int:
        return threads() if self._place.type == "cpu" else 1


def _blank(part: Slice) -> Slice:
    """Return as many records of zeros, all of the first class."""
    return Slice(np.zeros_like(part.X), np.zeros_like(part.y), part.entropy)


def require_usable(config: TrainingConfig) -> None:
    """Raise `config.invalid` for settings that only apply to separate training."""
    for name in ("epochs", "held_out", "balanced"):
        if getattr(config, name):
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"{name} is for teachers that learn apart: take it out of [training] of site.toml, or train "
                "without --training.",
            )
