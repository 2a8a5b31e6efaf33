"""The one way from a sum of ballots to answers."""

from __future__ import annotations

from common.mechanism import Confident, GnMax, Mechanism
from common.sharing.ring import Ring, RingArray
from guardian.mechanisms.answers import Answers
from guardian.mechanisms.confident import confident
from guardian.mechanisms.gnmax import gnmax
from guardian.noise.source import NoiseSource


def release(sums: RingArray, mechanism: Mechanism, noise: NoiseSource, ring: Ring) -> Answers:
    """Return the answers of one batch.

    `sums` are the ballots summed over all parties and both halves of the shares, values of `ring` of
    shape (Q, k), whatever they are: nothing about them is checked, because a refusal would be an oracle.
    """
    match mechanism:
        case GnMax():
            return gnmax(sums, mechanism, noise, ring)
        case Confident():
            return confident(sums, mechanism, noise, ring)
