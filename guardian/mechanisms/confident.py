"""Confident GNMax: a noisy check of the largest count, then GNMax (002, Algorithm 1)."""

from __future__ import annotations

from ostraka.common.mechanism import Confident
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import passes
from ostraka.guardian.noise.source import NoiseSource


def confident(sums: RingArray, mechanism: Confident, noise: NoiseSource, ring: Ring) -> Answers:
    """Answer the queries of `sums`, ring values (Q, k), that pass the check.

    Check and argmax are computed for every query, so that time says nothing about the outcome.
    """
    passed = passes(sums, mechanism.threshold, mechanism.sigma1, noise, ring)
    labels = noisy_argmax(sums, noise.gaussian(mechanism.sigma2, sums.shape), noise, ring)
    return Answers.where(passed[:, None], labels)
