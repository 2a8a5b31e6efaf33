"""Labels drawn anew, so that each says little about the true one."""

import secrets
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.mechanism import RandRes

_WORD = 8


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


def _below(limit: int, count: int, random: Callable[[int], bytes]) -> NDArray[np.int64]:
    """`count` whole numbers from 0 below `limit`, uniform: words beyond its last multiple are drawn again."""
    ends = np.uint64(2**64 // limit * limit - 1)
    drawn = _words(count, random)
    while (beyond := np.flatnonzero(drawn > ends)).size:
        drawn[beyond] = _words(len(beyond), random)
    return (drawn % np.uint64(limit)).astype(np.int64)


def _words(count: int, random: Callable[[int], bytes]) -> NDArray[np.uint64]:
    """`count` uniform words of 64 bits."""
    return np.frombuffer(random(_WORD * count), dtype="<u8").astype(np.uint64)
