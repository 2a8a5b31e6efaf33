"""Selection of noisy labels that agree with their cluster (Tang et al. 2022, section 4.3.2)."""

import numpy as np
from numpy.typing import NDArray

Assignments = NDArray[np.int32]
Labels = NDArray[np.int64]


def label_counts(assignments: Assignments, y: Labels, clusters: int, classes: int) -> NDArray[np.int64]:
    """Count records by cluster and class, int64 (clusters, classes) (Tang et al. 2022, Algorithm 1).

    Args:
        assignments: the cluster of each record, (N,).
        y: its class index, (N,).
        clusters: how many there are.
        classes: how many there are.
    """
    cells = assignments.astype(np.int64) * classes + y
    flat = np.bincount(cells, minlength=clusters * classes)
    return flat.reshape(clusters, classes)


def pseudo_labels(assignments: Assignments, y: Labels, clusters: int, classes: int) -> Labels:
    """Each record's label by the majority of its cluster, (N,); the first class where several have most.

    The majority is of the noisy labels, so nothing more is learned of the true ones (Tang et al. 2022,
    Proposition 4).
    """
    majority: Labels = label_counts(assignments, y, clusters, classes).argmax(axis=1)
    return majority[assignments]
