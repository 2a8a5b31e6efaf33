"""Small parties for tests of teachers that learn together."""

from typing import Any

import numpy as np
import torch
from torch import nn

from ostraka.common.learning.device import HOST, Device
from ostraka.common.mechanism import DpTtac, Recipe, Ttac
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.joint_training import JointTeachers, RoundInput, first_parameters

FEATURES, CLASSES, TEACHERS = 5, 3, 2
CONFIG = TrainingConfig(teachers=TEACHERS)


def parts(
    sizes: tuple[int, ...] = (20, 13), seed: int = 0, shape: tuple[int, ...] = (FEATURES,)
) -> list[Slice]:
    random = np.random.default_rng(seed)
    return [
        Slice(
            random.standard_normal((size, *shape)).astype(np.float32),
            random.integers(CLASSES, size=size),
            (seed, row),
        )
        for row, size in enumerate(sizes)
    ]


def recipe(model: str = "logistic", shape: tuple[int, ...] = (FEATURES,), **settings: Any) -> Recipe:
    given = {"steps": 3, "batch_size": 4, "learning_rate": 0.5, "decay": 0.9} | settings
    return Recipe.model_validate({"model": model, "parameters": len(first(model, shape)), **given})


def first(model: str = "logistic", shape: tuple[int, ...] = (FEATURES,)) -> np.ndarray:
    return first_parameters(model, shape, CLASSES, 7)


def ttac(**settings: Any) -> Ttac:
    return Ttac(recipe=recipe(**settings))


def dp_ttac(clip: str = "record", radius: float = 0.5, **settings: Any) -> DpTtac:
    return DpTtac.model_validate({"recipe": recipe(**settings), "clip": clip, "radius": radius, "sigma": 1.0})


def teachers(slices: list[Slice], mechanism: Ttac | DpTtac, device: Device = HOST) -> JointTeachers:
    return JointTeachers(slices, mechanism.recipe.model, CLASSES, CONFIG, mechanism.recipe, device)


def start(number: int = 0, seed: int = 3) -> tuple[RoundInput, np.ndarray]:
    """Return a round in the middle of a training, and variates of both teachers."""
    random = np.random.default_rng(seed)
    d = len(first())
    theta, c = (0.1 * random.standard_normal((2, d))).astype(np.float32)
    return RoundInput(theta, c, number), (0.1 * random.standard_normal((TEACHERS, d))).astype(np.float32)


def with_buffers(shape: tuple[int, ...], classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(shape[0], 4), nn.BatchNorm1d(4), nn.Linear(4, classes))


class Picky(nn.Module):
    """A linear layer that raises an error for a record with its forbidden value."""

    FORBIDDEN = 7777.0

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layer(_Checked.apply(x))  # type: ignore[no-untyped-call]
        return logits


class _Checked(torch.autograd.Function):
    """Checks values even where torch.vmap hides them."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        if (x == Picky.FORBIDDEN).any():
            raise ValueError(f"a record of {x.shape}")
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        """Keep nothing."""

    @staticmethod
    def backward(ctx: Any, slope: torch.Tensor) -> torch.Tensor:
        return slope

    @staticmethod
    def vmap(info: Any, dims: Any, x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        return _Checked.apply(x), dims[0]  # type: ignore[no-untyped-call]


def picky(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Picky(shape[0], classes)


class Curious(nn.Module):
    """Branches on the values of a record, so gradients by record cannot be computed."""

    def __init__(self, features: int, classes: int) -> None:
        super().__init__()
        self.layer = nn.Linear(features, classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.layer(x if x.sum() > 0 else -x)
        return logits


def curious(shape: tuple[int, ...], classes: int) -> nn.Module:
    return Curious(shape[0], classes)
