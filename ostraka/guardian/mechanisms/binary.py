"""Binary: each label with more noisy votes for it than against it (Dziedzic et al. 2023, section 3.1).

tau and L1 clipping work the same way, on ballots that were scaled down before they were shared.
"""

from __future__ import annotations

import math

import numpy as np

from ostraka.common.mechanism import PerLabel
from ostraka.common.noise.source import NoiseSource
from ostraka.common.privacy import WorstCase
from ostraka.common.privacy.worst_case import check_rdp
from ostraka.guardian.accounting.bounds.multilabel_rdp import binary_and_check_rdp, binary_rdp
from ostraka.guardian.accounting.bounds.vote_terms import (
    NOWHERE,
    Moves,
    Term,
    argmax_term,
    check_term,
    fits_ring,
)
from ostraka.guardian.accounting.numerics.arguments import Floats
from ostraka.guardian.accounting.tally import Tally
from ostraka.guardian.mechanisms.check import passes_per_label
from ostraka.guardian.mechanisms.rule import Answers, ChargeTerms, DataDependentRule, Sums


class PerLabelRule(DataDependentRule[PerLabel]):
    """Binary, tau and L1: labels are answered; with a check, the labels that pass it."""

    def release(self, mechanism: PerLabel, sums: Sums, noise: NoiseSource) -> Answers:
        """Answer every label of the sums, which are the positives.

        Positives and negatives (the totals minus the positives) each get their own noise. Only their
        difference is lifted: for any offset of a sum, a label then has two outcomes, and the noise decides. A
        label without any vote is not answered.
        """
        values = sums.values
        totals = sums.totals
        ring = sums.ring
        weights = np.broadcast_to(totals if totals.ndim == 2 else totals[:, None], values.shape)
        answered = weights > 0
        if mechanism.check is not None:
            answered &= passes_per_label(values, weights, mechanism.check, noise, ring)
        yes, no = noise.gaussian(mechanism.sigma, (2, *values.shape))
        noisy = ring.add(ring.add(values, values), ring.wrap(yes - no - weights))
        difference = ring.lift(noisy)
        # Both are drawn whatever the votes are: a coin tossed only for ties would reveal ties by its time.
        coins = noise.uniform(values.shape) >= np.uint64(2**63)
        return Answers.where(answered, (difference > 0) | ((difference == 0) & coins))

    def charges(self, mechanism: PerLabel, tally: Tally, order: float, terms: ChargeTerms) -> Floats:
        """Return the rdp (Q,) of one bit per label, from ballots of an L2 norm of at most the radius."""
        votes = tally.votes
        n = tally.totals()
        answered = tally.answered
        check = mechanism.check
        radius = mechanism.ballot.l2_radius
        tau = None if math.isinf(radius) else radius
        if check is None:
            return binary_rdp(votes, n, mechanism.sigma, order, answered, tau=tau, **terms)[:, 0]
        sigmas = check.sigma, mechanism.sigma
        rdp = binary_and_check_rdp(votes, n, check.threshold, *sigmas, order, answered, tau=tau, **terms)
        return rdp[:, 0]

    def vote_terms(self, mechanism: PerLabel, tally: Tally, moves: Moves, worst: WorstCase) -> list[Term]:
        """Return the term of each label's bit, an argmax of two counts, and with a check that check's term.

        A neighbour moves every label at once, by no more than one entry of a ballot. The list is empty if
        shifted sums could wrap around (docs/accounting-smooth.md).
        """
        sigma = mechanism.sigma
        # Sums shifted by at most half the votes double to a difference of at most 2 most; sqrt 2 12
        # deviations is 17.
        if not fits_ring(3 * moves.most + 17 * sigma):
            return []
        own = moves.of_ballots(min(1.0, mechanism.ballot.l2_radius))
        totals = tally.totals()
        counts = np.stack([tally.votes, totals - tally.votes], axis=-1)
        bits = argmax_term(counts[tally.answered], sigma, own, worst.answer)
        check = mechanism.check
        if check is None:
            return [bits]
        # No ballots reach a threshold above all votes, but shifted sums do.
        reached = (totals >= check.threshold)[..., None]
        checked = np.where(reached, counts, NOWHERE).reshape(-1, 2)
        cap = check_rdp(moves.order, own.sensitivity, check.sigma)
        return [check_term(checked, check.threshold, check.sigma, own, cap), bits]
