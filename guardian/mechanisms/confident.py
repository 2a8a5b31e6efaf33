"""Confident GNMax: a noisy check of the largest count, then GNMax (002, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Confident
from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.bounds.confident_rdp import confident_rdp
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import passes
from ostraka.guardian.mechanisms.rule import ChargeTerms, DataDependentRule, Sums
from ostraka.guardian.noise.source import NoiseSource


class ConfidentRule(DataDependentRule[Confident]):
    """Confident GNMax: queries that pass the check are answered."""

    def release(self, mechanism: Confident, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer the queries that pass the check.

        Check and argmax are computed for every query, so that time says nothing about the outcome.
        """
        passed = passes(sums.values, mechanism.threshold, mechanism.sigma1, noise, sums.ring)
        draws = noise.gaussian(mechanism.sigma2, sums.values.shape)
        return Answers.where(passed[:, None], noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: Confident, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of a check of each query, and of an argmax where it was answered."""
        parameters = mechanism.threshold, mechanism.sigma1, mechanism.sigma2
        return confident_rdp(tally.votes, *parameters, order, tally.answered[:, 0], **terms)[:, 0]

    def affordable(self, mechanism: Confident, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma2, influence)
