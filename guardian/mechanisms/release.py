"""The one way from a sum of ballots to answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    AnyMechanism,
    Binary,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Ttac,
)
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.guardian.mechanisms.answers import Answers
from ostraka.guardian.mechanisms.binary import binary
from ostraka.guardian.mechanisms.confident import confident
from ostraka.guardian.mechanisms.gnmax import gnmax
from ostraka.guardian.mechanisms.interactive import interactive
from ostraka.guardian.mechanisms.lnmax import lnmax
from ostraka.guardian.mechanisms.plurality import plurality
from ostraka.guardian.mechanisms.powerset import powerset
from ostraka.guardian.noise.source import NoiseSource


def release(
    sums: RingArray,
    mechanism: AnyMechanism,
    noise: NoiseSource,
    ring: Ring,
    *,
    classes: int,
    totals: NDArray[np.int64],
    scores: NDArray[np.int64] | None = None,
) -> Answers:
    """Return the answers of one batch.

    Args:
        sums: the ballots summed over all parties and both halves of the shares, values of `ring` of shape
            (Q, mechanism.width(classes)), whatever they are: nothing about them is checked, because a
            refusal would be an oracle.
        mechanism: what to release, and with how much noise.
        noise: the randomness; every release draws afresh.
        ring: the ring of the sums.
        classes: number of classes, or of labels for a multi-label mechanism.
        totals: weight of all votes scheduled for each query, int64 (Q,) in steps of 2^-16 of a vote; where
            ballots have one count a label also (Q, classes), of those scheduled for each label.
        scores: for Interactive the student's probabilities, int64 (Q, classes) in steps of 2^-16.

    Raises:
        ValueError: where Interactive is asked without scores, and for sums of updates, which
            `released_updates` releases.
    """
    match mechanism:
        case GnMax() | NoiseCluster():
            return gnmax(sums, mechanism, noise, ring)
        case RandRes():
            return plurality(sums, noise, ring)
        case LnMax():
            return lnmax(sums, mechanism, noise, ring)
        case Confident():
            return confident(sums, mechanism, noise, ring)
        case Interactive():
            if scores is None:
                raise ValueError("scores: interactive needs the student's probabilities")
            return interactive(sums, mechanism, noise, ring, totals=totals, scores=scores)
        case Binary() | Tau() | L1():
            return binary(sums, mechanism, noise, ring, totals=totals)
        case Powerset():
            return powerset(sums, mechanism, noise, ring, labels=classes)
        case Ttac() | DpTtac():
            raise ValueError(f"mechanism: {mechanism.kind} releases no answers")
