"""Hyperparameters of network training, and its result."""

import math
from dataclasses import dataclass
from typing import Literal

import torch

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import AUTO, Device, has_bfloat16

_WARM = 0.05
"""Part of the steps in which the rate rises."""


@dataclass(frozen=True)
class Learning:
    """How a network learns: AdamW, with a rate that rises in the first steps and falls to 0 along a cosine.

    Attributes:
        steps: number of steps.
        batch_size: labelled records in each step.
        unlabeled_ratio: unlabeled records in each step, for every labelled one.
        learning_rate: the highest rate.
        weight_decay: as in AdamW.
        ema: part of the averaged weights that each step keeps; the average is evaluated, and is the result.
        evaluations: looks at the validation records, evenly spread over the steps; each makes a checkpoint.
        patience: consecutive looks at which the network is worse than before, after which learning stops.
        precision: precision of the network's arithmetic, while its weights stay float32; "auto" is bfloat16
            on a GPU that supports it.
        device: name of the device; "auto" is the first card, if there is one.
    """

    steps: int = 2000
    batch_size: int = 32
    unlabeled_ratio: int = 4
    learning_rate: float = 0.002
    weight_decay: float = 0.01
    ema: float = 0.995
    evaluations: int = 20
    patience: int = 5
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    device: str = AUTO

    def __post_init__(self) -> None:
        whole = (self.steps, self.unlabeled_ratio, self.evaluations, self.patience)
        if min(whole) < 1 or self.batch_size < 2 or self.learning_rate <= 0 or not 0 <= self.ema < 1:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                "Learning needs steps, unlabeled_ratio, evaluations and patience of at least 1, batches of "
                "at least 2, a learning rate above 0 and an ema from 0 to below 1.",
            )

    def rate(self, step: int, total: int) -> float:
        """Return the rate in a step, counted from 0, out of `total`."""
        warm = max(1, round(_WARM * total))
        rise = min(1.0, (step + 1) / warm)
        fall = (1 + math.cos(math.pi * step / total)) / 2
        return self.learning_rate * rise * fall

    @property
    def place(self) -> torch.device:
        """The device in torch's terms; raises `device.missing` if it does not exist."""
        return Device(self.device).first

    @property
    def mixed(self) -> bool:
        """Whether the network computes with bfloat16."""
        if self.precision != "auto":
            return self.precision == "bfloat16"
        return has_bfloat16(self.place)


@dataclass(frozen=True)
class Look:
    """The averaged network at a step.

    Attributes:
        step: number of steps made.
        loss: mean of the training losses since the last look.
        error: share of validation records that are wrong, or for labels 1 - mean balanced accuracy; None
            without validation records.
    """

    step: int
    loss: float
    error: float | None


@dataclass(frozen=True)
class TrainingHistory:
    """The history of a training.

    Attributes:
        looks: the looks, in order.
        kept: number of steps after which the network had its final weights.
    """

    looks: tuple[Look, ...]
    kept: int
