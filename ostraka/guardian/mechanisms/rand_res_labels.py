"""RandResLabels: for each label the more frequent of noes and yeses that parties randomised."""

from __future__ import annotations

import numpy as np

from ostraka.common.mechanism import RandResLabels
from ostraka.common.noise.source import NoiseSource
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums


class RandResLabelsRule(Rule[RandResLabels]):
    """RandResLabels: nothing is left to protect; no noise is drawn and the cost does not depend on votes."""

    def release(self, mechanism: RandResLabels, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer the labels to which any record said no or yes; ties broken uniformly.

        Whatever the offset of a sum, it is a function of labels that were randomised before.
        """
        queries = len(sums.values)
        ring = sums.ring
        pairs = sums.values.reshape(queries, 2, -1).swapaxes(1, 2).reshape(-1, 2)
        voted = ring.lift(pairs).max(axis=1) > 0
        labels = noisy_argmax(pairs, np.zeros(pairs.shape, dtype=np.int64), noise, ring)
        return Answers.where(voted.reshape(queries, -1), labels.reshape(queries, -1))
