"""GNMax: argmax_j n_j + N(0, sigma^2) (002, section 3.1)."""

from __future__ import annotations

from ostraka.common.mechanism import GnMax, NoiseCluster
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.noise.source import NoiseSource


def gnmax(sums: RingArray, mechanism: GnMax | NoiseCluster, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer every query of `sums`, ring values (Q, k).

    NoiseCluster is the same, with a row for each cluster and records for votes (001, section 4.1).
    """
    return Answers.all(noisy_argmax(sums, noise.gaussian(mechanism.sigma, sums.shape), noise, ring))
