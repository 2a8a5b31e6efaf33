"""The student DenoiseSSL, which keeps labels that agree with the majority of their cluster.

Tang et al. 2022, section 4.3.2, Algorithm 7.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ostraka.client.students.fixmatch import FixMatch
from ostraka.client.students.label_dp.clustering import Assignments, cluster
from ostraka.client.students.label_dp.learners import require_one_label
from ostraka.client.students.neural import Features
from ostraka.client.students.registry import KMEANS
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.data import Labelled
from ostraka.common.learning.training_run import UNWATCHED, TrainingRun

Labels = NDArray[np.int64]


@dataclass(eq=False, repr=False, kw_only=True)
class DenoiseSsl(FixMatch):
    """DenoiseSSL: FixMatch on the labels that agree with their cluster's majority, the rest unlabeled.

    Labels that are known to be right (`error` 0) are always kept; if all are, nothing is clustered. Without
    an `error`, every label is in doubt. Kept labels count as right: how often they are wrong depends on the
    accuracy of the clusters (Equation 8), which is unknown. If `classes` is None, the kept labels determine
    it.
    """

    n_clusters: int | None = None
    """Number of clusters; None: one per class."""
    clusterer: str = KMEANS
    """"kmeans", "simclr" or "module:factory", as `clustering.cluster` takes it."""

    def learn_from(
        self,
        labelled: Labelled,
        unlabeled: Features | None = None,
        validation: Labelled | None = None,
        run: TrainingRun = UNWATCHED,
    ) -> Self:
        """Learn as every student does; also raises what `cluster` and `purify` raise."""
        require_one_label("denoise-ssl", multi_label=labelled.multi_label)
        if labelled.error is not None and not labelled.error.any():
            return super().learn_from(labelled, unlabeled, validation, run)
        pool = labelled.X if unlabeled is None else np.concatenate([labelled.X, unlabeled])
        classes = self._outputs(labelled)
        clusters = self.n_clusters or classes
        shape = self.shape or (pool.shape[1],)
        assignments = cluster(pool, shape, clusters, self.clusterer, self.seed, self._learning.device)
        kept, rest = purify(labelled, pool, assignments, classes)
        return super().learn_from(kept, rest, validation, run)


def purify(
    labelled: Labelled, pool: Features, assignments: Assignments, classes: int
) -> tuple[Labelled, Features]:
    """Return the records with kept labels, and the features of all other records.

    Args:
        labelled: records with labels, N of them.
        pool: prepared features of all records, the labelled ones first, float32 (M, F).
        assignments: their clusters, int32 (M,).
        classes: number of classes.

    Raises:
        OstrakaError: `data.too_few` if the kept labels are all of one class.
    """
    own = assignments[: len(labelled)]
    agrees = pseudo_labels(own, labelled.y, int(assignments.max()) + 1, classes) == labelled.y
    kept = agrees if labelled.error is None else agrees | (labelled.error == 0)
    if len(np.unique(labelled.y[kept])) < min(2, len(np.unique(labelled.y))):
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            "The labels that agree with their clusters are all of one class: cluster the features better "
            "or into more clusters, or ask for labels with less noise.",
        )
    doubted = np.ones(len(pool), np.bool_)
    doubted[: len(labelled)] = ~kept
    return Labelled(labelled.X[kept], labelled.y[kept]), pool[doubted]


def label_counts(assignments: Assignments, y: Labels, clusters: int, classes: int) -> NDArray[np.int64]:
    """Count records by cluster and class, int64 (clusters, classes) (Tang et al. 2022, Algorithm 1).

    Args:
        assignments: the cluster of each record, (N,).
        y: its class index, (N,).
        clusters: number of clusters.
        classes: number of classes.
    """
    cells = assignments.astype(np.int64) * classes + y
    flat = np.bincount(cells, minlength=clusters * classes)
    return flat.reshape(clusters, classes)


def pseudo_labels(assignments: Assignments, y: Labels, clusters: int, classes: int) -> Labels:
    """Return the majority label of each record's cluster, (N,); the first class if several tie.

    The majority is taken over the noisy labels, so it reveals nothing more about the true ones (Tang et al.
    2022, Proposition 4).
    """
    majority: Labels = label_counts(assignments, y, clusters, classes).argmax(axis=1)
    return majority[assignments]
