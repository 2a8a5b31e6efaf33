"""Interactive GNMax: answers where the votes differ from what a student believes (002, Algorithm 2)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Interactive
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.argmax import noisy_argmax
from ostraka.guardian.mechanisms.check import needed_steps, reaches
from ostraka.guardian.noise.source import NoiseSource


def interactive(
    sums: RingArray,
    mechanism: Interactive,
    noise: NoiseSource,
    ring: Ring,
    *,
    totals: NDArray[np.int64],
    scores: NDArray[np.int64],
) -> Answers:
    """Answer the queries of `sums`, ring values (Q, k), whose votes differ enough from `scores`.

    The check is max_j |n_j + n (1 - p_j)| - n + N(0, sigma1^2) >= threshold with |.| the circular distance
    and n the weight of all votes: for honest counts the largest n_j - n p_j, as a value that is never
    negative. `totals` are n in lattice steps, int64 (Q,), and `scores` the student's probabilities p, int64
    (Q, k) in steps of 2^-16; n (1 - p_j) is rounded down to the lattice. Where the check fails the querying
    party decides for itself whether its student is confident.
    """
    against = ring.wrap(_shares(totals[:, None], 2**FRACTION_BITS - scores))
    largest = ring.distance(sums + against).max(axis=1)
    passed = reaches(largest, needed_steps(mechanism.threshold) + totals, mechanism.sigma1, noise)
    labels = noisy_argmax(sums, noise.gaussian(mechanism.sigma2, sums.shape), noise, ring)
    return Answers.where(passed[:, None], labels)


def _shares(totals: NDArray[np.int64], parts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return totals times parts of 2^-16, rounded down; whole votes and the rest apart cannot overflow."""
    whole, rest = totals >> FRACTION_BITS, totals & (2**FRACTION_BITS - 1)
    return np.asarray(whole * parts + (rest * parts >> FRACTION_BITS))
