"""The most frequent of labels that parties randomised: nothing is left to protect, so no noise is drawn."""

from __future__ import annotations

import numpy as np

from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.noise.source import NoiseSource


def plurality(sums: RingArray, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer the queries of `sums`, ring values (Q, k), on which any record voted; ties broken uniformly.

    Whatever offset a sum carries, it is a function of labels that were randomised before (001, 4.2.1).
    """
    voted = ring.lift(sums).max(axis=1) > 0
    labels = noisy_argmax(sums, np.zeros(sums.shape, dtype=np.int64), noise, ring)
    return Answers.where(voted[:, None], labels)
