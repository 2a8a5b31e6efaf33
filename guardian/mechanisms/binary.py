"""Binary: each label with more noisy votes for it than against it (000, section 3.1).

tau and L1 clipping are the same on ballots that were scaled down before they were shared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import L1, Binary, Tau
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.check import passes_per_label
from ostraka.guardian.noise.source import NoiseSource


def binary(
    sums: RingArray,
    mechanism: Binary | Tau | L1,
    noise: NoiseSource,
    ring: Ring,
    *,
    totals: NDArray[np.int64],
) -> Answers:
    """Answer every label of `sums`, the positives as ring values (Q, k); with a check, those that pass it.

    Positives and negatives (`totals` less the positives, int64 (Q,), or (Q, k) by label, in lattice steps)
    each get their own noise. Only the difference of the two is lifted: whatever offset a sum carries, a label
    then has two outcomes that the noise decides. A label on which nobody votes is not answered.
    """
    weights = np.broadcast_to(totals if totals.ndim == 2 else totals[:, None], sums.shape)
    answered = weights > 0
    if mechanism.check is not None:
        answered &= passes_per_label(sums, weights, mechanism.check, noise, ring)
    yes, no = ring.wrap(noise.gaussian(mechanism.sigma, (2, *sums.shape)))
    difference = ring.lift(sums + sums - ring.wrap(weights) + yes - no)
    coins = noise.uniform(sums.shape) >= np.uint64(2**63)
    return Answers.where(answered, (difference > 0) | ((difference == 0) & coins))
