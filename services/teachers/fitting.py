"""Training of one party's networks."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
import torch
from torch import nn

from services.teachers.batches import Schedule, batches
from services.teachers.bounds import bound_logits
from services.teachers.config import HEAD_OF_MODEL, Progress, TrainingConfig, is_factory
from services.teachers.factory import build, invalid_model
from services.teachers.losses import Loss
from services.teachers.networks import Scaler, image_axes
from services.teachers.slices import Slice
from services.teachers.stack import Stack, best_device, pays
from services.teachers.stopping import Stopping, hold_out
from services.teachers.workers import THREADS, groups, run_each

LEARNING_RATE = 0.01
RATES: Mapping[str, float] = {"logistic": 0.1, "square-mlp": 0.003}
"""A single layer takes, and in few steps needs, larger ones; squares of all features grow beyond bounds."""
WEIGHT_DECAY = 0.01


def fit_networks(
    slices: Sequence[Slice],
    model: str,
    classes: int,
    config: TrainingConfig,
    progress: Progress,
    schedule: Schedule | None = None,
) -> list[nn.Module]:
    """Trained networks, one for each slice, in evaluation mode on the CPU; each scales its own records.

    Without a schedule, it is that of these slices.
    The same slices give the same weights on one machine. Small networks train together with stacked weights,
    the others one by one, as many at once as torch has threads: one thread each beats sharing one network.
    """
    shape = slices[0].X.shape[1:]
    nets = [_untrained(part, model, shape, classes) for part in slices]
    schedule = schedule or Schedule.of([len(part.y) for part in slices], model, image_axes(shape), config)
    peak_rate = RATES.get(model, LEARNING_RATE)
    device = best_device()
    workers = 1 if is_factory(model) or device.type == "cuda" else THREADS
    parts = groups(len(nets), workers if pays(model, device) else len(nets))
    loss = Loss.balanced(slices, classes, device) if config.balanced else Loss()
    tick = _ticker(progress, schedule.steps * len(parts))

    def work(group: Sequence[int]) -> None:
        learning = [nets[i] for i in group]
        _fit(learning, [slices[i] for i in group], schedule, loss.of(group), peak_rate, device, tick)

    with _seeded(slices[0]):
        try:
            run_each(work, parts, workers)
        except Exception as exc:
            raise invalid_model(model, f"cannot be trained ({type(exc).__name__})") from exc
    if model in HEAD_OF_MODEL:
        for net, part in zip(nets, slices, strict=True):
            bound_logits(net, part.X, multi_label=part.y.ndim > 1)
    return nets


def _untrained(part: Slice, model: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """A network whose first weights depend on the slice's entropy only."""
    with _seeded(part):
        net = compose(model, shape, classes)
    scaler = net.get_submodule("0")
    assert isinstance(scaler, Scaler)  # noqa: S101 - `compose` put it there
    scaler.fit(torch.from_numpy(part.X))
    return net


def compose(model: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """A scaler and a network of records (Q, *shape) to logits (Q, classes).

    Raises:
        OstrakaError: `model.invalid` where the factory's module does not do that.
    """
    built = build(model, shape, classes)
    if not isinstance(built, nn.Module):
        raise invalid_model(model, "gave no torch module")
    net = nn.Sequential(Scaler(shape), built).eval()
    try:
        with torch.no_grad():
            found = tuple(net(torch.zeros(2, *shape)).shape)
    except Exception as exc:
        raise invalid_model(model, f"cannot take records of shape {shape} ({type(exc).__name__})") from exc
    if found != (2, classes):
        raise invalid_model(model, f"gives shape {found} for 2 records, which should be (2, {classes})")
    return net


def _fit(
    nets: Sequence[nn.Module],
    slices: Sequence[Slice],
    schedule: Schedule,
    loss: Loss,
    peak_rate: float,
    device: torch.device,
    tick: Callable[[], None],
) -> None:
    """Trains networks together; their losses only add up, so that none sees another's records."""
    shown, held = zip(*(hold_out(part, schedule.held_out) for part in slices), strict=True)
    for net in nets:
        net.to(device).train()
    stack = Stack(nets)
    optimizer = torch.optim.AdamW(stack.parameters(), weight_decay=WEIGHT_DECAY, fused=True)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, peak_rate, total_steps=schedule.steps + 1)
    stopping = Stopping(nets, stack, held, loss, schedule.patience)
    steps = batches(shown, schedule, image_axes(slices[0].X.shape[1:]), device)
    for X, y in stopping.watch(steps, schedule.pace):
        optimizer.zero_grad()
        (loss(stack.each(X), y) / schedule.batch).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        rate.step()
        tick()
    stack.unstack()
    stopping.restore()
    for net in nets:
        net.cpu().eval()


def _ticker(progress: Progress, total: int) -> Callable[[], None]:
    lock, done = threading.Lock(), 0

    def tick() -> None:
        nonlocal done
        with lock:
            done += 1
            progress(done, total)

    return tick


@contextmanager
def _seeded(part: Slice) -> Iterator[None]:
    """Inside, torch's own generator (first weights, a factory's dropout) starts from the slice's entropy."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(np.random.SeedSequence(part.entropy).generate_state(1)[0]))
        yield
