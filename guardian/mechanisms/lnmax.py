"""LNMax: argmax_j n_j + Lap(1/gamma), the baseline (the first PATE paper's mechanism)."""

from __future__ import annotations

from ostraka.common.mechanism import LnMax
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.noise.source import NoiseSource


def lnmax(sums: RingArray, mechanism: LnMax, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer every query of `sums`, ring values (Q, k)."""
    return Answers.all(noisy_argmax(sums, noise.laplace(mechanism.scale, sums.shape), noise, ring))
