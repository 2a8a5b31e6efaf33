"""Releases of votes in the clear: simulated votes, or one's own votes."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import Mechanism
from ostraka.common.noise.source import NoiseSource
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms.rule import Answers, release

_RING = Ring(64)


def release_votes(
    mechanism: Mechanism,
    counts: NDArray[np.float64],
    noise: NoiseSource,
    *,
    classes: int,
    teachers: int,
    scores: NDArray[np.float64] | None = None,
) -> Answers:
    """Return the answers to queries with known votes, with new draws of `noise`, also for the parties.

    Args:
        mechanism: what to release, and with how much noise.
        counts: sums of ballots as the mechanism counts them, float64 (Q, width): votes for each class, yeses
            for each label, or votes for each label set.
        noise: the randomness, in lattice steps; `ExactNoise` is the guardian's.
        classes: number of classes, or of labels for a multi-label mechanism.
        teachers: number of voters on each query.
        scores: a student's probabilities, float64 (Q, classes), for mechanisms that use them.
    """
    sums = encode(counts, _RING)
    for draw in (mechanism.relied_on or 0) * mechanism.party_draws(*counts.shape):
        sums = _RING.add(sums, _RING.wrap(draw.of(noise)))
    return release(
        sums,
        mechanism,
        noise,
        _RING,
        classes=classes,
        totals=np.full(len(counts), teachers << FRACTION_BITS),
        scores=None if scores is None else np.ldexp(scores, FRACTION_BITS).astype(np.int64),
    )


def tally_votes(
    mechanism: Mechanism,
    counts: NDArray[np.float64],
    answered: NDArray[np.bool_],
    *,
    classes: int,
    teachers: int,
    scores: NDArray[np.float64] | None = None,
    labels: NDArray[np.int64] | None = None,
) -> Tally:
    """Return the release of such votes as the accountant sees it.

    `answered` and, if they should decide the cost, the released `labels` are (Q, answers).
    """
    return Tally(
        mechanism=mechanism,
        classes=classes,
        total=np.full(len(answered), float(teachers)),
        voters=teachers,
        votes=counts,
        answered=answered,
        scores=scores,
        adjacency="record",
        labels=labels,
    )
