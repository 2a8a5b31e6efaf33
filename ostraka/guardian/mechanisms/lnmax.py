"""LNMax: argmax_j n_j + Lap(1/gamma), the baseline (the first PATE paper's mechanism)."""

from __future__ import annotations

from ostraka.common.mechanism import LnMax
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import WorstCase
from ostraka.guardian.accounting.bounds.lnmax_rdp import lnmax_rdp
from ostraka.guardian.accounting.bounds.vote_terms import Moves, Term, fits_ring, laplace_term
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums

_FARTHEST_DRAW = 750
"""Scales within which noise lies: e^-750 is below the smallest double."""


class LnMaxRule(DataDependentRule[LnMax]):
    """LNMax: every query is answered."""

    def release(self, mechanism: LnMax, sums: Sums, noise: NoiseSource) -> Answers:
        """Return the class with the most noisy votes of every query."""
        draws = noise.laplace(mechanism.scale, sums.values.shape)
        return Answers.all(noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: LnMax, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of an argmax over each query's votes."""
        return lnmax_rdp(tally.votes, mechanism.gamma, order, **terms)[:, 0]

    def vote_terms(self, mechanism: LnMax, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the term of the argmax of every query; empty if shifted sums could wrap around."""
        if not fits_ring(2 * moves.most + _FARTHEST_DRAW * mechanism.scale):
            return []
        return [laplace_term(tally.votes, mechanism.gamma, moves, worst.answer)]
