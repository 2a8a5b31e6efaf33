"""Teachers that learn by FixMatch from features that all sites know, and from labels of their own party.

The `pate-fm` of Tang et al. 2022, section 4.2: each teacher's votes depend on the labels of its own slice and
on no other label; features are not secret. Changing one record's label, or all of its labels, changes one
teacher.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.augmentation import augmentation
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.device import HOST, Device
from ostraka.common.learning.fixmatch import FixMatchObjective
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.lesson import Lesson
from ostraka.common.learning.loop import learn
from ostraka.common.learning.training_run import TrainingRun
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import Progress, TrainingConfig
from ostraka.services.teachers.fitting import compose, limit_logits, require_numbers, seed_torch
from ostraka.services.teachers.layouts.layouts import StepCounter, fastest, run_each, threads
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.nets import Networks
from ostraka.services.teachers.networks import Scaler
from ostraka.services.teachers.recipes import FitGroups

EPOCHS = 20
"""Default number of passes over the shared records."""
MIN_STEPS = 300
"""Minimum number of steps: with fewer, a network has not learned from unlabeled records yet."""
LEARNING = Learning(evaluations=1)
SUPERVISED = ("shift", "rotate", "held_out", "balanced")
"""Settings of [training] that FixMatch does not use."""


def fit_on_shared(shared: NDArray[np.float32], device: Device = HOST) -> FitGroups:
    """Return a function that trains groups of teachers on these features (M, *shape) besides their slices.

    All groups get the same features. The returned function raises `config.invalid` for models that are not
    networks, and for settings that FixMatch does not use.
    """

    def fit(
        groups: Sequence[Sequence[Slice]],
        manifest: TeachersManifest,
        config: TrainingConfig,
        progress: Progress,
    ) -> Iterator[Networks]:
        _require_use(manifest, config)
        settings = _SemiSupervisedSettings.of(shared, manifest, config)
        steps = StepCounter(progress, settings.learning.steps * sum(map(len, groups)))
        for slices in groups:
            yield Networks.of(
                manifest.model, manifest.shape, settings.networks(slices, steps, device), device
            )

    return fit


@dataclass(frozen=True)
class _SemiSupervisedSettings:
    """Settings that all teachers of a party share.

    Attributes:
        scaler: fitted to the shared records.
        shared: those records, flat and scaled.
    """

    manifest: TeachersManifest
    learning: Learning
    scaler: Scaler
    shared: NDArray[np.float32]

    @classmethod
    def of(
        cls, shared: NDArray[np.float32], manifest: TeachersManifest, config: TrainingConfig
    ) -> "_SemiSupervisedSettings":
        """Return settings with the configured number of passes over the shared records."""
        scaler = Scaler(manifest.shape)
        scaler.fit(torch.from_numpy(shared))
        each = math.ceil(len(shared) / (LEARNING.batch_size * LEARNING.unlabeled_ratio))
        steps = config.epochs * each if config.epochs else max(MIN_STEPS, EPOCHS * each)
        return cls(manifest, replace(LEARNING, steps=steps), scaler, _flat(shared, scaler))

    def networks(self, slices: Sequence[Slice], steps: StepCounter, device: Device) -> list[nn.Module]:
        """Train one network per slice; return them on the CPU. Several train in parallel if there are cores.

        A factory's networks train one after another: they may draw from torch's global generator, which is
        seeded from each slice's entropy.
        """
        nets = [self._new_network(part) for part in slices]
        places = device.places
        alone = fastest(self.manifest.model, device, "training") == "loop"

        def fit(row: int) -> None:
            with seed_torch(slices[row]) if alone else nullcontext():
                self._fit(nets[row], slices[row], steps, str(places[row % len(places)]))

        workers = threads() if device.is_cpu else len(places)
        run_each(fit, range(len(slices)), 1 if alone else workers)
        require_numbers(nets, self.manifest.model)
        if self.manifest.head:
            for net, part in zip(nets, slices, strict=True):
                limit_logits(net, part.X, multi_label=self.manifest.multi_label)
        return nets

    def _new_network(self, part: Slice) -> nn.Module:
        """Return a network with the common scaler, and initial weights from the slice's entropy."""
        with seed_torch(part):
            net = compose(self.manifest.model, self.manifest.shape, self.manifest.classes)
        net.get_submodule("0").load_state_dict(self.scaler.state_dict())
        return net

    def _fit(self, net: nn.Module, part: Slice, steps: StepCounter, place: str) -> None:
        """Train one network; if its losses are not finite, its weights become NaN, and its votes
        accordingly."""
        learned = nn.Sequential(nn.Unflatten(1, self.manifest.shape), net.get_submodule("1"))
        objective = FixMatchObjective(augmentation(self.manifest.shape), self.manifest.multi_label)
        seed = int(np.random.SeedSequence(part.entropy).generate_state(1)[0])
        labelled = Labelled(_flat(part.X, self.scaler), part.y)
        lesson = Lesson(
            objective=objective,
            labelled=labelled,
            unlabeled=self.shared,
            learning=replace(self.learning, device=place),
            seed=seed,
        )
        try:
            learn(learned, lesson, TrainingRun(_Told(steps)))
        except OstrakaError as exc:
            if exc.code is not ErrorCode.MODEL_DIVERGED:
                raise
            for weights in net.parameters():
                nn.init.constant_(weights, math.nan)
        net.cpu().eval()


class _Told:
    """Reports steps one by one to a step counter."""

    def __init__(self, steps: StepCounter) -> None:
        self._steps = steps
        self._done = 0

    def __call__(self, done: int, total: int) -> None:
        for _ in range(done - self._done):
            self._steps.advance()
        self._done = done


def _flat(X: NDArray[np.float32], scaler: Scaler) -> NDArray[np.float32]:
    """Return scaled records as flat rows."""
    scaled: NDArray[np.float32] = scaler(torch.from_numpy(X)).flatten(1).numpy()
    return scaled


def _require_use(manifest: TeachersManifest, config: TrainingConfig) -> None:
    if manifest.library != "torch":
        raise _no_use(f"model {manifest.model} is not a network")
    given = [name for name in SUPERVISED if getattr(config, name) != type(config).model_fields[name].default]
    if given:
        raise _no_use(f"{given[0]} is for teachers that learn from labelled records alone")


def _no_use(problem: str) -> OstrakaError:
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"With shared_features, {problem}: take one of the two out of [training] of site.toml.",
    )
