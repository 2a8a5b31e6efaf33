"""Sums that a round releases: of teachers' learned values (Dodwadmath and Stich 2022), or over records."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Mechanism
from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.guardian.mechanisms.rule import Answers, Rule, Sums


class SumsRule(Rule[Mechanism]):
    """Mechanisms that answer no query: `release_sums` releases their sums."""

    def release(self, mechanism: Mechanism, sums: Sums, noise: NoiseSource) -> Answers:
        """Raise ValueError."""
        raise ValueError(f"mechanism: {mechanism.kind} releases no answers")


def release_sums(
    sums: RingArray, mechanism: Mechanism, noise: NoiseSource, ring: Modulus
) -> NDArray[np.int64]:
    """Return `sums`, ring values (rounds, width), with noise for each value, in lattice steps.

    Each draw of the mechanism covers a block of columns, one after the other. Noise is added in the ring and
    the result is lifted, for any sums: neither an offset nor a sum that leaves the ring changes what the
    noise hides. Ttac adds none.
    """
    drawn = [ring.wrap(draw.of(noise)) for draw in mechanism.draws(len(sums), 0)]
    return ring.lift(ring.add(sums, np.hstack(drawn)) if drawn else sums)
