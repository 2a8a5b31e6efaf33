"""Polynomials drawn from a stream of random bytes, each in one way whatever comes out."""

import numpy as np

from ostraka.common.crypto.linear.linear_ring import DEGREE, Polynomials, Small
from ostraka.common.crypto.stream import Stream

_PAIRS = 21
"""Pairs of bits in an error: a centred binomial distribution of variance 10.5, which is SEAL's."""


def uniform(stream: Stream, *shape: int) -> Polynomials:
    """Draw the next uniform polynomials, `shape` + (DEGREE,)."""
    return stream.ring(64, *shape, DEGREE)


def ternary(stream: Stream, *shape: int) -> Small:
    """Draw the next polynomials of -1, 0 and 1, each of probability 1/3 up to 2^-62; `shape` + (DEGREE,)."""
    return (stream.ring(64, *shape, DEGREE) % np.uint64(3)).astype(np.int64) - 1


def errors(stream: Stream, *shape: int) -> Small:
    """Draw the next polynomials of errors, standard deviation 3.24, at most 21; `shape` + (DEGREE,)."""
    ones: Small = np.bitwise_count(stream.ring(_PAIRS, 2, *shape, DEGREE)).astype(np.int64)
    difference: Small = ones[0] - ones[1]
    return difference
