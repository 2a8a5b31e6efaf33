"""Training objectives: the loss that an algorithm minimises in every step."""

from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class TrainingStep:
    """Where a training stands.

    Attributes:
        number: of the step, from 0; `total` of them are planned.
        random: what views and mixtures are drawn from; on the device of the records.
    """

    number: int
    total: int
    random: torch.Generator = field(repr=False)


class Objective(Protocol):
    """An algorithm; it holds nothing that changes between steps, so that a training can go on."""

    def loss(
        self, net: nn.Module, labelled: tuple[Tensor, Tensor], unlabeled: Tensor, step: TrainingStep
    ) -> Tensor:
        """Return the loss of one step, a scalar.

        Args:
            net: the network, of scaled rows to logits.
            labelled: rows (n, F) and soft targets (n, outputs), UNKNOWN where nobody answered for a label.
            unlabeled: rows (m, F), none where there are none.
            step: where the training stands.
        """
