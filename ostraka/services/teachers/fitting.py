"""Training of one party's networks, with early stopping on each slice and logits scaled into range."""

import copy
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

import numpy as np
import structlog
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.common.errors import OstrakaError
from ostraka.common.learning.device import HOST, Device, free_memory, is_out_of_memory
from ostraka.common.learning.device_failures import device_failures
from ostraka.common.learning.factories import invalid_model, words_of
from ostraka.common.learning.optimization import AdamW, OneCycle
from ostraka.common.learning.shape import image_axes
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.batches import Schedule, batches
from ostraka.services.teachers.config import Progress, TrainingConfig
from ostraka.services.teachers.factory import build
from ostraka.services.teachers.guard import FALLBACK
from ostraka.services.teachers.layouts.layouts import (
    Arrangement,
    Layout,
    PartOfSteps,
    Stack,
    StepCounter,
    fastest,
    groups,
    make_stack,
    run_each,
)
from ostraka.services.teachers.losses import Loss
from ostraka.services.teachers.networks import Scaler

Batch = tuple[Tensor, Tensor]


class Stopping:
    """Keeps every network's weights from when its loss on held-out records of its own slice was lowest.

    If no loss is a number, the weights of the first look are kept. A network whose loss did not fall in
    `patience` passes keeps its weights for good, independently of the other networks: no slice affects
    another slice's teacher. If nothing is held out, networks keep their final weights.

    Attributes:
        shown: number of training steps.
    """

    def __init__(
        self, nets: Sequence[nn.Module], stack: Stack, held: Sequence[Slice], loss: Loss, patience: int
    ) -> None:
        self.shown = 0
        self._nets = nets
        self._stack = stack
        self._held = held
        self._loss = loss
        self._patience = patience
        self._lowest = [math.inf] * len(nets)
        self._waited = [0] * len(nets)
        self._best: dict[int, dict[str, Tensor]] = {}

    def watch(self, steps: Iterator[Batch], pace: int) -> Iterator[Batch]:
        """Yield training steps until no network can still improve; check after every `pace` of them."""
        looks = any(len(part.y) for part in self._held)
        for step in steps:
            if looks and self.shown and self.shown % pace == 0 and not self._improving():
                return
            self.shown += 1
            yield step
        if looks:
            self._improving()

    def restore(self) -> None:
        """Give every network its best weights."""
        for row, state in self._best.items():
            self._nets[row].load_state_dict(state)

    def _improving(self) -> bool:
        """Check every network once; return whether any can still improve."""
        self._stack.unstack()
        for row in range(len(self._nets)):
            if len(self._held[row].y) and self._waiting(row):
                self._look(row)
        return any(self._waiting(row) for row in range(len(self._nets)))

    def _waiting(self, row: int) -> bool:
        return len(self._held[row].y) == 0 or self._waited[row] < self._patience

    def _look(self, row: int) -> None:
        loss = self._loss_of(row)
        self._waited[row] += 1
        if loss < self._lowest[row]:
            self._lowest[row] = loss
            self._waited[row] = 0
        if self._waited[row] == 0 or row not in self._best:
            self._best[row] = {name: value.clone() for name, value in self._nets[row].state_dict().items()}

    @torch.no_grad()
    def _loss_of(self, row: int) -> float:
        """Return the loss on the held-out records."""
        net = self._nets[row]
        part = self._held[row]
        device = next(net.parameters()).device
        X = torch.from_numpy(part.X).to(device)
        y = torch.from_numpy(part.y).to(device)
        net.eval()
        loss = float(self._loss.of([row])(net(X)[None], y[None]))
        net.train()
        return loss


def hold_out(part: Slice, share: float) -> tuple[Slice, Slice]:
    """Split a slice into shown and held-out records: `share` of them, rounded down, drawn by its entropy.

    The draw depends on the number of records, not on their contents.
    """
    random = np.random.default_rng((*part.entropy, 1))
    order = random.permutation(len(part.y))
    held, shown = np.split(order, [math.floor(share * len(part.y))])
    return _rows(part, np.sort(shown)), _rows(part, np.sort(held))


def _rows(part: Slice, rows: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Slice:
    return Slice(part.X[rows], part.y[rows], part.entropy)


LEARNING_RATE = 0.01
"""Peak of the cycle: with larger rates several layers diverge, smaller ones need more steps than slices
get."""
RATES: Mapping[str, float] = {"logistic": 0.1, "square-mlp": 0.003}
"""A single layer supports, and in few steps needs, a larger rate; squares of all features diverge."""
WEIGHT_DECAY = 0.01
"""The default of torch's AdamW."""


def fit_networks(
    slices: Sequence[Slice],
    model: str,
    classes: int,
    config: TrainingConfig,
    progress: Progress,
    schedule: Schedule | None = None,
    *,
    layout: Layout | None = None,
    device: Device = HOST,
) -> list[nn.Module]:
    """Train one network per slice; return them in evaluation mode on the CPU. Each scales its own records.

    By default, the schedule is that of these slices, and the layout the fastest for the model. On one
    machine, the same slices give the same weights. Several GPUs train in parallel, each a part of the
    networks; if one runs out of memory, it trains half as many at a time.

    Raises:
        OstrakaError: `model.invalid` if the model cannot be trained, `device.full` if memory is too small
            even for one, `device.missing` if the device does not work.
    """
    shape = slices[0].X.shape[1:]
    nets = [_new_network(part, model, shape, classes) for part in slices]
    schedule = schedule or Schedule.of([len(part.y) for part in slices], model, image_axes(shape), config)
    layout = layout or fastest(model, device, "training")
    arranged = Arrangement.of(layout, len(nets), device)
    weighing = Loss.balancing(slices, classes) if config.balanced else Loss()
    steps = StepCounter(progress, schedule.steps * len(arranged.parts))
    settings = _FitSettings(schedule, RATES.get(model, LEARNING_RATE), layout, steps)

    def work(part: int) -> None:
        rows = arranged.parts[part]
        loss = weighing.of(rows).at(arranged.places[part])
        learning = [nets[row] for row in rows]
        shown = [slices[row] for row in rows]
        with seed_torch(slices[rows[0]]) if layout == "loop" else nullcontext():
            _fit_within_memory(learning, shown, loss, settings, arranged.places[part])

    try:
        with device_failures(device):
            run_each(work, range(len(arranged.parts)), arranged.workers)
    except OstrakaError:
        raise
    except Exception as exc:
        raise invalid_model(model, f"cannot be trained ({type(exc).__name__})") from exc
    require_numbers(nets, model)
    if config.head is not None:
        for net, part in zip(nets, slices, strict=True):
            limit_logits(net, part.X, multi_label=part.y.ndim > 1)
    return nets


def _new_network(part: Slice, model: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Return a network whose initial weights depend only on the slice's entropy."""
    with seed_torch(part):
        net = compose(model, shape, classes)
    scaler = net.get_submodule("0")
    assert isinstance(scaler, Scaler)  # noqa: S101 - `compose` put it there
    scaler.fit(torch.from_numpy(part.X))
    return net


def compose(model: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Compose a scaler and a network of records (Q, *shape) to logits (Q, classes).

    Raises:
        OstrakaError: `model.invalid` if the factory's module does not do that.
    """
    built = build(model, shape, classes)
    if not isinstance(built, nn.Module):
        raise invalid_model(model, "gave no torch module")
    net = nn.Sequential(Scaler(shape), built).eval()
    try:
        with torch.no_grad():
            found = tuple(net(torch.zeros(2, *shape)).shape)
    except (Exception, SystemExit) as exc:
        raise invalid_model(model, f"cannot take records of shape {shape} ({words_of(exc)})") from exc
    if found != (2, classes):
        raise invalid_model(model, f"gives shape {found} for 2 records, which should be (2, {classes})")
    return net


@dataclass(frozen=True)
class _FitSettings:
    """Training settings that all networks of a party share."""

    schedule: Schedule
    peak_rate: float
    layout: Layout
    steps: StepCounter


def _fit_within_memory(
    nets: Sequence[nn.Module],
    slices: Sequence[Slice],
    loss: Loss,
    settings: _FitSettings,
    place: torch.device,
) -> None:
    """Train networks together on a device; if memory is too small, one half after the other."""
    first = [copy.deepcopy(net.state_dict()) for net in nets] if len(nets) > 1 else []
    steps = PartOfSteps(settings.steps)
    try:
        _fit(nets, slices, loss, settings, steps, place)
        return
    except Exception as exc:
        if len(nets) == 1 or not is_out_of_memory(exc):
            raise
    # Outside the handler: the exception's frames keep the memory that is needed.
    for net, state in zip(nets, first, strict=True):
        net.cpu().load_state_dict(state)
    free_memory(place)
    halves = groups(len(nets), 2)
    structlog.get_logger().warning("device.memory_full", device=place.type, together=len(halves[0]))
    settings.steps.expect(steps.taken + settings.schedule.steps * (len(halves) - 1))
    for rows in halves:
        _fit_within_memory(
            [nets[row] for row in rows], [slices[row] for row in rows], loss.of(rows), settings, place
        )


def _fit(
    nets: Sequence[nn.Module],
    slices: Sequence[Slice],
    loss: Loss,
    settings: _FitSettings,
    steps: PartOfSteps,
    place: torch.device,
) -> None:
    """Train networks together; their losses are only added, so none depends on another's records."""
    schedule = settings.schedule
    shown, held = zip(*(hold_out(part, schedule.held_out) for part in slices), strict=True)
    for net in nets:
        net.to(place).train()
    stack = make_stack(settings.layout, nets)
    optimizer = AdamW(stack.parameters(), WEIGHT_DECAY)
    cycle = OneCycle(settings.peak_rate, schedule.steps + 1)
    stopping = Stopping(nets, stack, held, loss, schedule.patience)
    drawn = batches(shown, schedule, image_axes(slices[0].X.shape[1:]), place)
    for step, (X, y) in enumerate(stopping.watch(drawn, schedule.pace)):
        optimizer.zero_grad()
        (loss(stack.each(X), y) / schedule.batch).backward()  # type: ignore[no-untyped-call]
        optimizer.step(*cycle.at(step))
        steps.advance()
    stack.unstack()
    stopping.restore()
    # Skipped steps count as done, so progress reaches its end.
    for _ in range(stopping.shown, schedule.steps):
        steps.advance()
    for net in nets:
        net.to("cpu", memory_format=torch.contiguous_format).eval()  # type: ignore[call-overload]


def require_numbers(nets: Sequence[nn.Module], model: str) -> None:
    """Raise `model.invalid` if all networks diverged to non-finite weights; log it if some did."""
    failed = sum(not all(bool(part.isfinite().all()) for part in net.parameters()) for net in nets)
    if failed == len(nets):
        raise invalid_model(model, "cannot be trained (its losses are not numbers)")
    if failed:
        structlog.get_logger().warning("teacher.untrained", teachers=failed, votes_for=FALLBACK)


@contextmanager
def seed_torch(part: Slice) -> Iterator[None]:
    """Seed torch's global generator (initial weights, a factory's dropout) from the slice's entropy."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence(part.entropy).generate_state(1)[0]))
        yield


MICRO_BATCH = 4096
"""Batch size of the search for a network's largest logit."""


def limit_logits(net: nn.Module, X: NDArray[np.float32], *, multi_label: bool) -> None:
    """Scale the last layer of a trained network so its logits on its own records X stay in range.

    A positive factor changes no vote; nor does subtracting the mean over classes if each query has one class.
    The factor depends only on own records, so a record still changes only its own teacher. A network whose
    logits are not numbers, or all zero, is not changed.
    """
    last = list(net.modules())[-1]
    assert isinstance(last, nn.Linear)  # noqa: S101 - every network with a head ends so
    with torch.no_grad():
        if not multi_label:
            last.weight.sub_(last.weight.mean(dim=0))
            last.bias.sub_(last.bias.mean())
        peak = max(float(net(part).abs().max()) for part in torch.split(torch.from_numpy(X), MICRO_BATCH))
        if 0 < peak < float("inf"):
            last.weight.mul_(LOGIT_RANGE / peak)
            last.bias.mul_(LOGIT_RANGE / peak)
