"""What a network learns, from which records, and how."""

import hashlib
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from ostraka.common.learning.data import Labelled
from ostraka.common.learning.device import AUTO
from ostraka.common.learning.learning import Learning
from ostraka.common.learning.objective import Objective


@dataclass(frozen=True, eq=False, kw_only=True)
class Lesson:
    """Everything that determines what becomes of a network's first weights.

    Attributes:
        objective: the algorithm.
        labelled: scaled records, at least one.
        unlabeled: scaled records, float32 (M, F); None if there are none.
        validation: scaled records that are not learned from, on which the network is evaluated.
        learning: how long and how fast.
        seed: seed of batches, views and mixtures.
    """

    objective: Objective
    labelled: Labelled
    unlabeled: NDArray[np.float32] | None = field(default=None, repr=False)
    validation: Labelled | None = None
    learning: Learning
    seed: int

    def fingerprint(self, net: nn.Module) -> str:
        """Return SHA-256, hexadecimal, of the lesson, without its device, and of its first weights."""
        learning = replace(self.learning, device=AUTO)
        digest = hashlib.sha256(repr((self.objective, learning, self.seed, torch.__version__)).encode())
        for name, value in net.state_dict().items():
            _add(digest, name, value.cpu().numpy())
        records = {"labelled": self.labelled, "validation": self.validation}
        for name, part in records.items():
            for column in () if part is None else (part.X, part.targets(int(part.y.max(initial=0)) + 1)):
                _add(digest, name, column)
        if self.unlabeled is not None:
            _add(digest, "unlabeled", self.unlabeled)
        return digest.hexdigest()


def _add(digest: Any, name: str, values: NDArray[Any]) -> None:
    digest.update(f"{name} {values.shape} {values.dtype}".encode())
    digest.update(np.ascontiguousarray(values).tobytes())
