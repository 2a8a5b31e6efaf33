"""The student that keeps the labels that their cluster agrees with (001, section 4.3.2, Algorithm 7)."""

from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from client.label_dp.clusters import KMEANS, cluster
from client.label_dp.learners import require_one_label
from client.label_dp.purify import pseudo_labels
from client.students.fixmatch import FixMatch
from client.students.neural import Features, Progress
from common.errors import ErrorCode, OstrakaError
from common.learning.data import Labelled
from common.learning.learning import Learning
from common.learning.networks import Kind
from common.learning.shape import Shape


class DenoiseSsl(FixMatch):
    """DenoiseSSL: FixMatch on the labels that agree with the majority of their cluster, the rest unlabeled.

    Labels that are known to be right (`error` 0) are kept whatever their cluster says; without an `error`
    every label is in doubt. Kept labels count as right: how often they are not, no party can know (Equation 8).

    Args:
        shape: as `Neural`, and so are `classes`, `network`, `learning` and `seed`.
        classes: see `shape`.
        network: see `shape`.
        learning: see `shape`.
        seed: see `shape`.
        threshold: as `FixMatch`, and so is `weight`.
        weight: see `threshold`.
        n_clusters: how many clusters; None: one for each class.
        clusterer: "kmeans", "simclr" or "module:factory", see `client.label_dp.clusters.cluster`.
    """

    def __init__(
        self,
        shape: Shape | None = None,
        classes: int | None = None,
        *,
        network: Kind = "auto",
        learning: Learning | None = None,
        seed: int = 0,
        threshold: float = 0.95,
        weight: float = 1.0,
        n_clusters: int | None = None,
        clusterer: str = KMEANS,
    ) -> None:
        """Takes the parameters."""
        super().__init__(
            shape,
            classes,
            network=network,
            learning=learning,
            seed=seed,
            threshold=threshold,
            weight=weight,
        )
        self.n_clusters = n_clusters
        self.clusterer = clusterer

    def fit(
        self,
        labelled: Labelled,
        unlabeled: Features | None = None,
        validation: Labelled | None = None,
        *,
        progress: Progress | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """As every student; raises what `cluster` does, and `data.too_few` where hardly a label is kept."""
        require_one_label("denoise-ssl", multi_label=labelled.multi_label)
        pool = labelled.X if unlabeled is None else np.concatenate([labelled.X, unlabeled])
        kept = self._believed(labelled, pool)
        doubted = np.ones(len(pool), np.bool_)
        doubted[: len(kept)] = ~kept
        purified = Labelled(labelled.X[kept], labelled.y[kept])
        return super().fit(
            purified, pool[doubted], validation, progress=progress, checkpoint=checkpoint, log=log
        )

    def _believed(self, labelled: Labelled, pool: Features) -> NDArray[np.bool_]:
        """Which labels are kept, (N,)."""
        classes = self._outputs(labelled)
        clusters = self.n_clusters or classes
        shape = self.shape or (pool.shape[1],)
        assignments = cluster(pool, shape, clusters, self.clusterer, self.seed)[: len(labelled)]
        agrees = pseudo_labels(assignments, labelled.y, clusters, classes) == labelled.y
        kept: NDArray[np.bool_] = agrees if labelled.error is None else agrees | (labelled.error == 0)
        if len(np.unique(labelled.y[kept])) < min(2, len(np.unique(labelled.y))):
            raise OstrakaError(
                ErrorCode.DATA_TOO_FEW,
                "The labels that agree with their clusters are all of one class: cluster the features better "
                "or into more clusters, or ask for labels with less noise.",
            )
        return kept
