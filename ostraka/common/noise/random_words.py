"""Random bits, drawn anew by every call: no state is kept that a fork could copy or threads could share."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

WORD_BITS = 64
"""Bits of a word."""

RandomBytes = Callable[[int], bytes]
"""Returns this many uniform bytes; no byte is ever returned twice."""


def system_bytes(count: int) -> bytes:
    """Return `count` bytes of the operating system's generator.

    Raises:
        OstrakaError: `noise.no_entropy` if it gives none.
    """
    try:
        return os.urandom(count)
    except (NotImplementedError, OSError) as exc:
        raise OstrakaError(
            ErrorCode.NOISE_NO_ENTROPY,
            f"The operating system gives no random bytes ({type(exc).__name__}), so nothing is released; "
            "let its getrandom or /dev/urandom work.",
        ) from exc


def random_words(random: RandomBytes, count: int) -> NDArray[np.uint64]:
    """Return `count` independent words, uniform over all 64-bit values."""
    return np.frombuffer(random(WORD_BITS // 8 * count), dtype="<u8").astype(np.uint64, copy=False)
