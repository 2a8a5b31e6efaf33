"""NoiseCluster: GNMax with one row per cluster, and records as votes (Tang et al. 2022, section 4.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import NoiseCluster
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.bounds.noise_cluster_rdp import noise_cluster_rdp
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class NoiseClusterRule(DataDependentRule[NoiseCluster]):
    """NoiseCluster: every cluster is answered, and all are charged together."""

    def release(self, mechanism: NoiseCluster, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the most frequent label of every cluster after noise."""
        draws = noise.gaussian(mechanism.sigma, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: NoiseCluster, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (1,) of labelling all clusters."""
        if not len(tally.votes):
            return np.zeros(1)
        return noise_cluster_rdp(tally.votes, mechanism.sigma, order, adjacency=tally.adjacency, **terms)

    def affordable(self, mechanism: NoiseCluster, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which clusters (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma, influence)
