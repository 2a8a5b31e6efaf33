"""Threshold: the second class if its noisy share of the votes reaches a public share."""

from __future__ import annotations

import numpy as np

from ostraka.common.mechanism import Threshold
from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.accounting.bounds.multilabel_rdp import bit_above_rdp
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class ThresholdRule(DataDependentRule[Threshold]):
    """Threshold: every query is answered."""

    def release(self, mechanism: Threshold, sums: Sums, noise: NoiseSource) -> Answers:
        """Return 1 where n_1 + Z_1 - (n_0 + Z_0) >= (2 share - 1) n, else 0; n is the weight of all votes.

        Only the difference of both counts is lifted, as in `binary`. For any offsets of the sums, the answer
        then has two outcomes of one noisy number, which a vote moves by twice its weight.
        """
        ring = sums.ring
        no, yes = sums.values.T
        drawn = noise.gaussian(mechanism.sigma, sums.values.shape)
        offset = drawn[:, 1] - drawn[:, 0] - mechanism.lead(sums.totals)
        lead = ring.lift(ring.add(ring.subtract(yes, no), ring.wrap(offset)))
        return Answers.all(lead[:, None] >= 0)

    def charges(self, mechanism: Threshold, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of one bit for each query."""
        totals = np.ldexp(tally.total, FRACTION_BITS).astype(np.int64)
        lead = np.ldexp(mechanism.lead(totals).astype(np.float64), -FRACTION_BITS)
        return bit_above_rdp(tally.votes[:, 1], tally.total, lead, mechanism.sigma, order, **terms)[:, 0]
