"""A training as numbers and tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

Part = Mapping[str, Tensor]


@dataclass(frozen=True, eq=False)
class State:
    """Where a training stands.

    Attributes:
        notes: what JSON can say of it.
        parts: its tensors, by part and name.
    """

    notes: Mapping[str, Any]
    parts: Mapping[str, Part] = field(repr=False)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> Part:
    """Return what an optimizer remembers of each parameter, named "row/name"."""
    state = optimizer.state_dict()["state"]
    return {f"{row}/{name}": value for row, values in state.items() for name, value in values.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Part) -> None:
    """Give an optimizer what another one of the same parameters remembered."""
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        row, _, rest = name.partition("/")
        state.setdefault(int(row), {})[rest] = value
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
