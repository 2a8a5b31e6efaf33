"""A pool asked by clusters: a few of its records stand for the others."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.common.task import Task


def representatives(pool: Dataset, task: Task, clusters: int, seed: int) -> NDArray[np.int64]:
    """Rows of the pool's records nearest to the centres that k-means finds, in order and without repeats.

    Records stand for centres because every task takes them: a centre may have values that the task does not.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    centres = KMeans(clusters, n_init=1, random_state=seed).fit(X).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres, X))


def members(pool: Dataset, task: Task, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every record of the pool which of the representatives at `rows` is nearest, (records,)."""
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    nearest: NDArray[np.int64] = pairwise_distances_argmin(X, X[rows])
    return nearest
