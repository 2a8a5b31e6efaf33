"""Bits by columns turned into blocks by rows."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BITS, Blocks

_STEP = 1024
"""Bytes of each column turned at a time, so that they stay in the cache."""

_SWAPS = (
    (np.uint64(7), np.uint64(0x00AA00AA00AA00AA)),
    (np.uint64(14), np.uint64(0x0000CCCC0000CCCC)),
    (np.uint64(28), np.uint64(0x00000000F0F0F0F0)),
)


def rows_of(columns: NDArray[np.uint8]) -> Blocks:
    """Row j's block has as its bit i the bit j of column i.

    Args:
        columns: 128 columns of bits, (128, bytes), least significant bit first.

    Returns:
        Blocks (8 bytes, 2), uint64.
    """
    size = columns.shape[1]
    rows = np.empty((8 * size, 2), np.uint64)
    for start in range(0, size, _STEP):
        stop = min(start + _STEP, size)
        rows[8 * start : 8 * stop] = _turned(columns[:, start:stop])
    return rows


def _turned(columns: NDArray[np.uint8]) -> Blocks:
    """Squares of 8 by 8 bits turned within a word each (Warren, Hacker's Delight, 7-3), then laid out."""
    squares = columns.T.copy().view("<u8")
    for shift, mask in _SWAPS:
        moved = (squares ^ (squares >> shift)) & mask
        squares ^= moved ^ (moved << shift)
    octets = squares.view(np.uint8).reshape(columns.shape[1], BLOCK_BITS // 8, 8)
    return np.ascontiguousarray(octets.transpose(0, 2, 1)).view("<u8").reshape(-1, 2)
