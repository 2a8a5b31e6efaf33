"""A training as numbers and tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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
