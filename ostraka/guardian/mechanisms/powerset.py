"""Powerset: the label set with the most noisy votes (Dziedzic et al. 2023, appendix I.2)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Powerset
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import Influence, WorstCase
from ostraka.common.sharing.label_sets import bits_of
from ostraka.guardian.accounting.bounds.powerset_rdp import powerset_and_check_rdp, powerset_rdp
from ostraka.guardian.accounting.bounds.vote_terms import Moves, Term, argmax_term, check_term, fits_ring
from ostraka.guardian.accounting.cost_limit import affordable_sets
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import passes
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class PowersetRule(DataDependentRule[Powerset]):
    """Powerset: every query is answered with a set of labels; with a check, the queries that pass it."""

    def release(self, mechanism: Powerset, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer every query, or those that pass.

        The check is on the largest count, one per query, and decides about the whole set. Every set has its
        own draw, even sets without votes. Their number is a fact about the votes, and a shortcut for them
        would reveal it by its running time.
        """
        values = sums.values
        check = mechanism.check
        if check is None:
            answered = np.ones(len(values), dtype=np.bool_)
        else:
            answered = passes(values, check.threshold, check.sigma, noise, sums.ring)
        winners = noisy_argmax(values, noise.gaussian(mechanism.sigma, values.shape), noise, sums.ring)
        return Answers.where(answered[:, None], bits_of(winners[:, 0], sums.classes))

    def charges(self, mechanism: Powerset, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of one label set per query; at most as many sets as voters have votes."""
        counts = tally.largest_counts()
        k = tally.classes
        most = mechanism.max_positives
        check = mechanism.check
        if check is None:
            return powerset_rdp(counts, k, mechanism.sigma, order, max_positives=most, **terms)[:, 0]
        given = tally.answered.any(axis=1)
        parameters = (check.threshold, check.sigma, mechanism.sigma)
        rdp = powerset_and_check_rdp(counts, k, *parameters, order, given, max_positives=most, **terms)
        return rdp[:, 0]

    def vote_terms(self, mechanism: Powerset, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the term of an argmax over all label sets, and of the check of the largest count.

        The list is empty if shifted sums, or a threshold above all votes, leave a cost without proof
        (docs/accounting-smooth.md).
        """
        check = mechanism.check
        if not fits_ring(2 * moves.most + 12 * mechanism.sigma):
            return []
        if check is None:
            return [argmax_term(tally.votes, mechanism.sigma, moves, worst.answer)]
        if check.threshold > tally.total.min(initial=math.inf):
            return []
        given = tally.votes[tally.answered.any(axis=1)]
        return [
            check_term(tally.votes, check.threshold, check.sigma, moves, worst.check),
            argmax_term(given, mechanism.sigma, moves, worst.answer),
        ]

    def affordable(self, mechanism: Powerset, tally: Tally, influence: Influence) -> NDArray[np.bool_]:
        """Return for which queries (Q,) the bound `exact` is computed in time."""
        return affordable_sets(tally, mechanism.sigma, influence)
