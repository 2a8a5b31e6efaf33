"""Powerset: the label set with the most noisy votes (000, appendix I.2)."""

from __future__ import annotations

import numpy as np

from ostraka.common.mechanism import Powerset
from ostraka.common.sharing.label_sets import bits_of
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import passes
from ostraka.guardian.noise.source import NoiseSource


def powerset(sums: RingArray, mechanism: Powerset, noise: NoiseSource, ring: Ring, *, labels: int) -> Answers:
    """Answer every query of `sums`, ring values (Q, sets), with a set of `labels`; or those that pass.

    A check is on the largest count, one a query, and decides about the whole set. Every set has a draw of its
    own, also those that nobody voted for: how many these are is a fact about the votes, which a shortcut for
    them would tell by the time that it takes.
    """
    if mechanism.check is None:
        answered = np.ones(len(sums), dtype=np.bool_)
    else:
        answered = passes(sums, mechanism.check.threshold, mechanism.check.sigma, noise, ring)
    winners = noisy_argmax(sums, noise.gaussian(mechanism.sigma, sums.shape), noise, ring)
    return Answers.where(answered[:, None], bits_of(winners[:, 0], labels))
