"""RandRes: the most frequent label among labels that parties randomised (Tang et al. 2022, section 4.2.1)."""

from __future__ import annotations

import numpy as np

from ostraka.common.mechanism import RandRes
from ostraka.common.noise.source import NoiseSource
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums


class RandResRule(Rule[RandRes]):
    """RandRes: nothing is left to protect; no noise is drawn and the cost does not depend on votes."""

    def release(self, mechanism: RandRes, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer the queries on which any record voted; ties broken uniformly.

        Whatever the offset of a sum, it is a function of labels that were randomised before.
        """
        values = sums.values
        ring = sums.ring
        voted = ring.lift(values).max(axis=1) > 0
        labels = noisy_argmax(values, np.zeros(values.shape, dtype=np.int64), noise, ring)
        return Answers.where(voted[:, None], labels)
