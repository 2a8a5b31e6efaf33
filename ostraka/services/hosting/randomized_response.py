"""Labels drawn anew, so that each says little about the true one."""

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import RandRes, RandResLabels

NOT_DRAWN = -1
"""In place of a label that a record does not answer."""
_WORD_BYTES = 8


def randomize(
    y: NDArray[np.int64],
    classes: int,
    epsilon: float,
    random: Callable[[int], bytes] = secrets.token_bytes,
) -> NDArray[np.int64]:
    """Each of the labels `y`, int64 (N,), with `RandRes.truth`'s probability, else any other class.

    The probability is rounded down to a multiple of 2^-64 and the other classes are exactly alike, so that
    the draw is `epsilon`-label-DP; `random` gives so many bytes. Raises `plan.invalid` for an epsilon that is
    not positive, or so small that labels would say nothing.
    """
    response = RandRes(epsilon=epsilon)
    response.check_classes(classes)
    kept = _words(len(y), random) < np.uint64(response.truth_steps(classes))
    others = _below(classes - 1, len(y), random)
    return np.where(kept, y, others + (others >= y))


def randomize_labels(
    y: NDArray[np.int64], epsilon: float, random: Callable[[int], bytes] = secrets.token_bytes
) -> NDArray[np.int64]:
    """Draw anew some of each record's labels `y`, int64 (N, k) of 0 and 1; NOT_DRAWN stands for the others.

    Which they are does not depend on any label. All are true with a probability rounded down to a multiple of
    2^-64, else each is a coin, so that a record's answer is `epsilon`-label-DP; a label that is not known
    counts as 0. `random` gives so many bytes.
    Raises `plan.invalid` as `randomize` does.
    """
    records, labels = y.shape
    response = RandResLabels(epsilon=epsilon)
    response.check_classes(labels)
    told = _words(records, random) < np.uint64(response.told_steps(labels))
    coins = np.unpackbits(np.frombuffer(random(-(-y.size // 8)), np.uint8), count=y.size).reshape(y.shape)
    places = np.argsort(_words(y.size, random).reshape(y.shape), axis=1)
    answers = np.where(told[:, None], y == 1, coins).astype(np.int64)
    return np.where(places < response.drawn(labels), answers, NOT_DRAWN)


def _below(limit: int, count: int, random: Callable[[int], bytes]) -> NDArray[np.int64]:
    """`count` whole numbers from 0 below `limit`, uniform: words beyond its last multiple are drawn again."""
    ends = np.uint64(2**64 // limit * limit - 1)
    drawn = _words(count, random)
    while (beyond := np.flatnonzero(drawn > ends)).size:
        drawn[beyond] = _words(len(beyond), random)
    return (drawn % np.uint64(limit)).astype(np.int64)


def _words(count: int, random: Callable[[int], bytes]) -> NDArray[np.uint64]:
    """`count` uniform words of 64 bits."""
    return np.frombuffer(random(_WORD_BYTES * count), dtype="<u8").astype(np.uint64)
