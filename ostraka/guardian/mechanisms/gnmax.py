"""GNMax: argmax_j n_j + N(0, sigma^2) (Papernot et al. 2018, section 3.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import GnMax
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence, WorstCase
from ostraka.guardian.accounting.bounds.gnmax_rdp import gnmax_charges, gnmax_rdp
from ostraka.guardian.accounting.bounds.vote_terms import Moves, Term, argmax_term, fits_ring
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class GnMaxRule(DataDependentRule[GnMax]):
    """GNMax: every query is answered."""

    def release(self, mechanism: GnMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most noisy votes of every query."""
        draws = noise.gaussian(mechanism.sigma, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: GnMax, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of an argmax over each query's votes."""
        return gnmax_rdp(tally.votes, mechanism.sigma, order, labels=tally.released, **terms)[:, 0]

    def largest(self, mechanism: GnMax, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the cost (Q,) of the costliest label of each query."""
        if terms["bound"] != "exact":
            return super().largest(mechanism, tally, order, terms)
        influence = terms["influence"]
        lattice = terms["lattice"]
        charges = gnmax_charges(tally.votes, mechanism.sigma, order, influence=influence, lattice=lattice)
        return charges.largest()[:, 0]

    def vote_terms(self, mechanism: GnMax, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the term of the argmax of every query; empty if shifted sums could wrap around."""
        if not fits_ring(2 * moves.most + 12 * mechanism.sigma):
            return []
        return [argmax_term(tally.votes, mechanism.sigma, moves, worst.answer)]

    def affordable(self, mechanism: GnMax, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma, influence)
