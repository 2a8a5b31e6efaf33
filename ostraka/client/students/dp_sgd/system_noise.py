"""Random numbers of DP-SGD: all from the operating system, none from a seed."""

import math
import secrets

import numpy as np
from numpy.typing import NDArray

_BITS = 64


def gaussian(values: int) -> NDArray[np.float64]:
    """Return independent standard Gaussians (values,), by Box and Muller (1958).

    Each pair takes 128 bits, so that none is larger than 9.5 and about 1e-20 of the mass is cut off.
    """
    pairs = (values + 1) // 2
    radii = np.sqrt(-2 * np.log(_uniform(pairs)))
    angles = 2 * math.pi * _uniform(pairs)
    return np.concatenate([radii * np.cos(angles), radii * np.sin(angles)])[:values]


def poisson_sample(records: int, rate: float) -> NDArray[np.int64]:
    """Return the rows of a batch, rising: each of so many records is in it with this probability."""
    return np.flatnonzero(_bits(records) < math.floor(rate * 2**_BITS))


def _uniform(values: int) -> NDArray[np.float64]:
    """Return numbers above 0 up to 1, the middles of 2^64 equal parts."""
    return np.asarray((_bits(values) + 0.5) / 2.0**_BITS, np.float64)


def _bits(values: int) -> NDArray[np.uint64]:
    return np.frombuffer(secrets.token_bytes(_BITS // 8 * values), dtype=np.uint64)
