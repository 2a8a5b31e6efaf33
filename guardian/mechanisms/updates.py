"""Sums of what the teachers of all parties learned in a round (004, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import DpTtac, Ttac
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.noise.source import NoiseSource


def released_updates(
    sums: RingArray, mechanism: Ttac | DpTtac, noise: NoiseSource, ring: Ring
) -> NDArray[np.int64]:
    """Return `sums`, ring values (rounds, parameters), with noise for each value, in lattice steps.

    Noise of `sigma` radii is added in the ring and the result is lifted, whatever the sums are: neither an
    offset that they carry nor a sum that leaves the ring changes what the noise hides. Ttac adds none.
    """
    if isinstance(mechanism, Ttac):
        return ring.lift(sums)
    return ring.lift(sums + ring.wrap(noise.gaussian(mechanism.sigma, sums.shape)))
