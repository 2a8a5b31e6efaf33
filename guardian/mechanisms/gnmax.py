"""GNMax: argmax_j n_j + N(0, sigma^2) (002, section 3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import Influence
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_rdp
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import ChargeTerms, DataDependentRule, Sums
from ostraka.guardian.noise.source import NoiseSource


class GnMaxRule(DataDependentRule[GnMax]):
    """GNMax: every query is answered."""

    def release(self, mechanism: GnMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most noisy votes of every query."""
        draws = noise.gaussian(mechanism.sigma, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: GnMax, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of an argmax over each query's votes."""
        return gnmax_rdp(tally.votes, mechanism.sigma, order, **terms)[:, 0]

    def affordable(self, mechanism: GnMax, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma, influence)
