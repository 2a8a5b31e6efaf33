"""GNMax of counts with the parties' noise (Kairouz, Liu and Steinke 2021, Papernot et al. 2018)."""

from __future__ import annotations

import numpy as np

from ostraka.common.mechanism import DistributedGnMax
from ostraka.common.noise import NoiseSource
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums


class DistributedGnMaxRule(Rule[DistributedGnMax]):
    """GNMax without the guardian's noise: every query is answered, and charged its worst case."""

    def release(self, mechanism: DistributedGnMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most votes of every query, from sums that already contain noise."""
        none = np.zeros(sums.values.shape, dtype=np.int64)
        return Answers.all(noisy_argmax(sums.values, none, noise, sums.ring))
