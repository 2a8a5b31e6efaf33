"""Binary: each label with more noisy votes for it than against it (000, section 3.1).

tau and L1 clipping are the same on ballots that were scaled down before they were shared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from common.mechanism import L1, Binary, Tau
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.answers import Answers
from guardian.mechanisms.check import passes_per_label
from guardian.noise.source import NoiseSource


def binary(
    sums: RingArray,
    mechanism: Binary | Tau | L1,
    noise: NoiseSource,
    ring: Ring,
    *,
    totals: NDArray[np.int64],
) -> Answers:
    """Answer every label of `sums`, the positives as ring values (Q, k); with a check, those that pass it.

    Positives and negatives (`totals` less the positives, int64 (Q,) in lattice steps) each get their own
    noise. Only the difference of the two is lifted: whatever offset a sum carries, a label then has two
    outcomes that the noise decides.
    """
    if mechanism.check is None:
        answered = np.ones(sums.shape, dtype=np.bool_)
    else:
        answered = passes_per_label(sums, totals, mechanism.check, noise, ring)
    yes, no = ring.wrap(noise.gaussian(mechanism.sigma, (2, *sums.shape)))
    everyone = ring.wrap(totals)[:, None]
    difference = ring.lift(sums + sums - everyone + yes - no)
    coins = noise.uniform(sums.shape) >= np.uint64(2**63)
    return Answers.where(answered, (difference > 0) | ((difference == 0) & coins))
