"""128-bit blocks as NumPy arrays: the labels of garbled wires, and operations on all of them at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError

Blocks = NDArray[np.uint64]
"""Blocks have a last axis of 2: the low and the high 64 bits."""

BLOCK_BYTES = 16
BLOCK_BITS = 128

_WORD = np.dtype("<u8")
_ONE = np.uint64(1)


def from_bytes(data: bytes, *shape: int) -> Blocks:
    """Return the blocks in `data`, of `shape` + (2,), uint64, little endian, read-only.

    Raises:
        OstrakaError: `message.invalid` for any other length.
    """
    expected = int(np.prod(shape, dtype=np.int64)) * BLOCK_BYTES
    if len(data) != expected:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A message of {expected // BLOCK_BYTES} labels has {expected} bytes, not {len(data)}: "
            "send it whole.",
        )
    return np.frombuffer(data, _WORD).astype(np.uint64, copy=False).reshape(*shape, 2)


def to_bytes(blocks: Blocks) -> bytes:
    """Return the concatenated blocks, each 16 bytes, little endian."""
    return blocks.astype(_WORD, copy=False).tobytes()


def colours(blocks: Blocks) -> NDArray[np.uint64]:
    """Return the least significant bit of every block, 0 or 1, uint64, without the last axis."""
    return blocks[..., 0] & _ONE


def spread(bits: NDArray[Any]) -> Blocks:
    """Return blocks that serve as masks: all ones where a bit is 1 and zero where it is 0.

    A selection by such a mask takes the same time and accesses the same memory whatever the bit.
    """
    masks = np.empty((*bits.shape, 2), np.uint64)
    np.negative(bits.astype(np.uint64, copy=False), out=masks[..., 0])
    masks[..., 1] = masks[..., 0]
    return masks


def delta_of(block: Blocks) -> Blocks:
    """Return the block (2,) with its colour set: the difference of the two labels of every wire (free XOR).

    Kolesnikov and Schneider 2008. The colour tells the evaluator which row to use, but not the bit.
    """
    coloured = block.copy()
    coloured[0] |= _ONE
    return coloured


def active(false_labels: Blocks, bits: NDArray[Any], delta: Blocks) -> Blocks:
    """Return the labels for `bits` (0 or 1) on wires whose labels of 0 are `false_labels`."""
    return false_labels ^ (spread(bits) & delta)
