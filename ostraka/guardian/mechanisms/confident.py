"""Confident GNMax: a noisy check of the largest count, then GNMax (Papernot et al. 2018, Algorithm 1)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Confident
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence, WorstCase
from ostraka.guardian.accounting.bounds.confident_rdp import confident_charges, confident_rdp
from ostraka.guardian.accounting.bounds.vote_terms import Moves, Term, argmax_term, check_term, fits_ring
from ostraka.guardian.accounting.cost_limit import affordable_argmax
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import passes
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class ConfidentRule(DataDependentRule[Confident]):
    """Confident GNMax: queries that pass the check are answered."""

    def release(self, mechanism: Confident, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer the queries that pass the check.

        Check and argmax are computed for every query, so the time reveals nothing about the outcome.
        """
        passed = passes(sums.values, mechanism.threshold, mechanism.sigma1, noise, sums.ring)
        draws = noise.gaussian(mechanism.sigma2, sums.values.shape)
        return Answers.where(passed[:, None], noisy_argmax(sums.values, draws, noise, sums.ring))

    def charges(self, mechanism: Confident, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of a check of each query, and of an argmax if it was answered."""
        parameters = mechanism.threshold, mechanism.sigma1, mechanism.sigma2
        answered = tally.answered[:, 0]
        labels = tally.released
        return confident_rdp(tally.votes, *parameters, order, answered, labels=labels, **terms)[:, 0]

    def largest(self, mechanism: Confident, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the cost (Q,) of the costliest outcome of each query."""
        if terms["bound"] != "exact":
            return super().largest(mechanism, tally, order, terms)
        parameters = mechanism.threshold, mechanism.sigma1, mechanism.sigma2
        influence = terms["influence"]
        lattice = terms["lattice"]
        charges = confident_charges(tally.votes, *parameters, order, influence=influence, lattice=lattice)
        return charges.largest()[:, 0]

    def vote_terms(self, mechanism: Confident, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the term of the check of every query, and of the argmax of the queries that passed.

        The list is empty if shifted sums, or a threshold above all votes, leave a cost without proof
        (docs/accounting-smooth.md).
        """
        if not fits_ring(2 * moves.most + 12 * mechanism.sigma2):
            return []
        if mechanism.threshold > tally.total.min(initial=math.inf):
            return []
        passed = tally.votes[tally.answered[:, 0]]
        check = check_term(tally.votes, mechanism.threshold, mechanism.sigma1, moves, worst.check)
        return [check, argmax_term(passed, mechanism.sigma2, moves, worst.answer)]

    def affordable(self, mechanism: Confident, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_argmax(tally, mechanism.sigma2, influence)
