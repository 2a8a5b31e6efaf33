"""Tables to ask advice about."""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

COLUMNS = 4


def features(rows: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(rows, COLUMNS)).round(2)


def table(X: NDArray[np.float64], **more: Any) -> pa.Table:
    return pa.table({**{f"x{place}": column for place, column in enumerate(X.T)}, **more})


def diagnosed(rows: int) -> pa.Table:
    """Return records in which four columns together mostly determine the diagnosis."""
    X = features(rows)
    noise = np.random.default_rng(1).normal(size=rows)
    return table(X, diagnosis=np.where(X.sum(axis=1) + 0.3 * noise > 0, "ill", "well"))
