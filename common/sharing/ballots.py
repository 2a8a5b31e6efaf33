"""Teachers' votes summed into a party's ballots, in multiples of 2^-16 vote.

Votes on classes are indices. Votes on labels are scores from 0 to 1, of which at least 0.5 is a yes.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, AnyMechanism, DpTtac, NoiseCluster, Powerset, RandRes, Tau, Ttac
from ostraka.common.sharing.fixed_point import FRACTION_BITS
from ostraka.common.sharing.label_sets import count_sets, index_of

Scores = NDArray[np.floating[Any]]
YES = 0.5
VOTE = 2**FRACTION_BITS
"""The weight of one whole vote."""


def ballots(
    votes: NDArray[Any], mechanism: AnyMechanism, classes: int, weight: int = VOTE
) -> NDArray[np.float64]:
    """Ballots in votes, (queries, width), as `mechanism` counts them, exact.

    Args:
        votes: class indices (teachers, queries), or scores (teachers, queries, labels) for a multi-label
            mechanism.
        mechanism: how they are counted.
        classes: number of classes, or of labels.
        weight: of each teacher's vote, in steps of 2^-16 vote (003, section 3.3).

    Raises:
        OstrakaError: `model.invalid` for a vote outside the classes.
        ValueError: for what counts records, and for sums of updates.
    """
    match mechanism:
        case NoiseCluster() | RandRes():
            raise ValueError(f"ballots of {mechanism.kind} count records, not votes")
        case Ttac() | DpTtac():
            raise ValueError(f"ballots of {mechanism.kind} hold updates, not votes")
        case Tau(tau=tau):
            return clipped(votes, tau, weight)
        case L1(tau1=tau1):
            return l1_clipped(votes, tau1, weight)
        case Powerset(max_positives=most):
            counts = label_sets(votes, most)
        case _:
            counts = positives(votes) if mechanism.multi_label else single_label(votes, classes)
    return counts * np.float64(weight / VOTE)


def single_label(votes: NDArray[np.integer[Any]], classes: int) -> NDArray[np.int64]:
    """Count the votes of a party's teachers.

    Args:
        votes: class indices, shape (teachers, queries).
        classes: number of classes k.

    Returns:
        Ballots of shape (queries, k), int64; every row sums to the number of teachers.

    Raises:
        OstrakaError: `model.invalid` where a teacher votes outside 0..k-1; the vote itself is not told.
    """
    cast = np.asarray(votes, dtype=np.int64)
    outside = (cast < 0) | (cast >= classes)
    if outside.any():
        raise OstrakaError(
            ErrorCode.MODEL_INVALID,
            f"Teacher {int(np.argmax(outside.any(axis=1)))} votes outside the task's {classes} classes: "
            "train it again with this task.",
        )
    return _counted(cast, classes)


def positives(scores: Scores) -> NDArray[np.int64]:
    """How many teachers say yes to each label: (queries, labels) of scores (teachers, queries, labels)."""
    counts: NDArray[np.int64] = (scores >= YES).sum(axis=0, dtype=np.int64)
    return counts


def clipped(scores: Scores, tau: float, weight: int = VOTE) -> NDArray[np.float64]:
    """Sum ballots scaled to an L2 norm of at most `tau`, multiples of 2^-16 vote (000, section 3.2).

    A ballot of m yeses has norm sqrt(m), so each counts min(1, tau/sqrt(m)) vote, rounded toward zero. That
    times `weight` is rounded toward zero again, so that no ballot weighs more than `weight` says.
    """
    return _scaled(scores, lambda yeses: tau / np.sqrt(yeses), weight)


def l1_clipped(scores: Scores, tau1: float, weight: int = VOTE) -> NDArray[np.float64]:
    """Sum ballots scaled to an L1 norm of at most `tau1`, as `clipped`: m yeses count min(1, tau1/m)."""
    return _scaled(scores, lambda yeses: tau1 / yeses, weight)


def label_sets(scores: Scores, max_positives: int | None) -> NDArray[np.int64]:
    """How many teachers vote for each label set: (queries, sets), in the order of `label_sets.index_of`.

    Of more than `max_positives` yeses the highest scores are kept, the lower label where scores are equal.
    """
    bits = scores >= YES
    labels = bits.shape[-1]
    if max_positives is not None:
        ranked = np.argsort(-np.where(bits, scores, -1.0), axis=-1, kind="stable")
        bits &= np.argsort(ranked, axis=-1) < max_positives
    return _counted(index_of(bits), count_sets(labels, max_positives))


def _scaled(
    scores: Scores, scale: Callable[[NDArray[np.int64]], NDArray[np.float64]], weight: int
) -> NDArray[np.float64]:
    bits = scores >= YES
    yeses = np.maximum(bits.sum(axis=-1), 1)
    unweighted = np.trunc(np.minimum(scale(yeses), 1.0) * VOTE)
    steps = np.trunc(unweighted * weight / VOTE)
    total: NDArray[np.float64] = np.einsum("tqk,tq->qk", bits, steps)
    return np.ldexp(total, -FRACTION_BITS)


def _counted(choices: NDArray[np.int64], width: int) -> NDArray[np.int64]:
    """How often (teachers, queries) choose each of `width` places, as (queries, width)."""
    queries = choices.shape[1]
    cells = choices + width * np.arange(queries)
    return np.bincount(cells.ravel(), minlength=queries * width).reshape(queries, width)
