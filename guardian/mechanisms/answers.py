"""What every mechanism returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Answers:
    """The release of one batch: `answered` bool (Q,), `labels` int64 (Q,), -1 where not answered."""

    answered: NDArray[np.bool_]
    labels: NDArray[np.int64]
