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
    """How a network learns: AdamW, its rate rising in the first steps and falling to 0 along a cosine.

    Attributes:
        steps: how many.
        batch_size: labelled records in each.
        unlabeled_ratio: unlabeled records in each, for every labelled one.
        learning_rate: the highest.
        weight_decay: as AdamW's.
        ema: part of the averaged weights that each step keeps; these are evaluated, and kept in the end.
        evaluations: looks at the validation records, evenly spread over the steps; checkpoints are made then.
        patience: looks in a row at which the network is worse than it was before it learns no more.
        precision: of the network's arithmetic, its weights stay float32; "auto" is bfloat16 on a GPU that
            has it.
        device: where, by name; "auto" is the first card, where there is one.
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
        """Return the rate in a step, counted from 0, of so many."""
        warm = max(1, round(_WARM * total))
        rise = min(1.0, (step + 1) / warm)
        fall = (1 + math.cos(math.pi * step / total)) / 2
        return self.learning_rate * rise * fall

    @property
    def place(self) -> torch.device:
        """The device in torch's terms; raises `device.missing` where it is not there."""
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
        step: how many were made.
        loss: mean of the training losses since the last look.
        error: share of validation records that are wrong, of labels 1 - their mean balanced accuracy; None
            without validation records.
    """

    step: int
    loss: float
    error: float | None


@dataclass(frozen=True)
class TrainingHistory:
    """A training.

    Attributes:
        looks: in order.
        kept: after how many steps the network was as it is kept.
    """

    looks: tuple[Look, ...]
    kept: int
