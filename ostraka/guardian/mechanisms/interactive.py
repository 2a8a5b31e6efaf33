"""Interactive GNMax: answers where the votes differ from a student's prediction.

Papernot et al. 2018, Algorithm 2.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Interactive
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence, InputError
from ostraka.common.sharing import FRACTION_BITS
from ostraka.guardian.accounting.bounds.interactive_rdp import interactive_charges, interactive_rdp
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import reaches, threshold_steps
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class InteractiveRule(DataDependentRule[Interactive]):
    """Interactive GNMax: queries whose votes differ enough from a student's scores are answered."""

    def release(self, mechanism: Interactive, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer the queries that pass max_j |n_j + n (1 - p_j)| - n + N(0, sigma1^2) >= threshold.

        |.| is the circular distance and n the weight of all votes. For honest counts this is the largest n_j
        - n p_j, written so that the sum is never negative. n (1 - p_j) is rounded down to the lattice. If the
        check fails, the querying party decides itself whether its student is confident.

        Raises:
            ValueError: without scores.
        """
        if sums.scores is None:
            raise ValueError("scores: interactive needs the student's probabilities")
        against = sums.ring.wrap(_shares(sums.totals[:, None], 2**FRACTION_BITS - sums.scores))
        largest = sums.ring.distance(sums.ring.add(sums.values, against)).max(axis=1)
        passed = reaches(largest, threshold_steps(mechanism.threshold) + sums.totals, mechanism.sigma1, noise)
        draws = noise.gaussian(mechanism.sigma2, sums.values.shape)
        return Answers.where(passed[:, None], noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: Interactive, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of a check of each query, and of an argmax if it was answered."""
        if tally.scores is None:
            raise InputError("scores", "must be given for interactive")
        parameters = mechanism.threshold, mechanism.sigma1, mechanism.sigma2
        asked = (tally.votes, tally.scores, *parameters, order)
        rdp = interactive_rdp(*asked, tally.answered[:, 0], labels=tally.released, **terms)
        return rdp[:, 0]

    def largest(self, mechanism: Interactive, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the cost (Q,) of the costliest outcome of each query."""
        if terms["bound"] != "exact" or tally.scores is None:
            return super().largest(mechanism, tally, order, terms)
        parameters = mechanism.threshold, mechanism.sigma1, mechanism.sigma2
        influence = terms["influence"]
        lattice = terms["lattice"]
        charges = interactive_charges(
            tally.votes, tally.scores, *parameters, order, influence=influence, lattice=lattice
        )
        return charges.largest()[:, 0]

    def affordable(self, mechanism: Interactive, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma2, influence)


def _shares(totals: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return totals times parts of 2^-16, rounded down, without overflow."""
    # Whole votes and the rest separately: one product of both would overflow 64 bits.
    whole = totals >> FRACTION_BITS
    rest = totals & (2**FRACTION_BITS - 1)
    return np.asarray(whole * parts + (rest * parts >> FRACTION_BITS))
