"""Records that are asked about by the cluster that each is in."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Clusters:
    """Clusters that are the queries: `count` of them, and `of` each record its own, from 0, int32 (N,)."""

    count: int
    of: NDArray[np.int32] = field(repr=False)
