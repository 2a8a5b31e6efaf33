"""Records that are asked about by the cluster that each is in."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Clusters:
    """Clusters that are the queries: `count` of them, and `of` each record its own, from 0, int32 (N,)."""

    count: int
    of: NDArray[np.int32] = field(repr=False)

    def arranged(self, order: Sequence[int]) -> "Clusters":
        """Return the same clusters, all of them, numbered by their place in `order`."""
        places = np.empty(self.count, np.int32)
        places[list(order)] = np.arange(self.count)
        return Clusters(self.count, places[self.of])
