"""Sums of what the teachers of all parties learned in a round (Dodwadmath and Stich 2022, Algorithm 1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import JointTraining
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums
from ostraka.guardian.noise.source import NoiseSource


class UpdatesRule(Rule[JointTraining]):
    """Ttac and DpTtac: no query is answered, `released_updates` releases the sums."""

    def release(self, mechanism: JointTraining, sums: Sums, noise: NoiseSource) -> Answers:
        """Raise ValueError."""
        raise ValueError(f"mechanism: {mechanism.kind} releases no answers")


def released_updates(
    sums: RingArray, mechanism: JointTraining, noise: NoiseSource, ring: Modulus
) -> NDArray[np.int64]:
    """Return `sums`, ring values (rounds, parameters), with noise for each value, in lattice steps.

    Noise is added in the ring and the result is lifted, whatever the sums are: neither an offset that they
    carry nor a sum that leaves the ring changes what the noise hides. Ttac adds none.
    """
    for draw in mechanism.draws(len(sums), 0):
        sums = ring.add(sums, ring.wrap(draw.of(noise)))
    return ring.lift(sums)
