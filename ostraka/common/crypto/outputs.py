"""Outputs of circuits: additive shares, bits that the evaluator learns, or bits that both learn.

Own derivation of the shares, from the colour's two cases: `garbled_shares`.
"""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import Blocks, colours, from_bytes
from ostraka.common.crypto.garbling import Evaluator, Garbler
from ostraka.common.crypto.gates import Wires
from ostraka.common.errors import ErrorCode, OstrakaError

Shares = NDArray[np.uint32]
_SHARE = np.dtype("<u4")
_HIGH_HALF = np.uint64(32)


def garbled_shares(garbler: Garbler, wires: Wires) -> tuple[Shares, bytes]:
    """Return the garbler's shares of output bits in Z_2^32, shaped as `wires` without labels, and a table.

    Let p be the colour of the label of 0, and h0 and h1 the hashes of the labels of colours 0 and 1. The
    evaluator's share is h0, or h1 plus the table's entry; the label of colour 0 stands for the bit p. So the
    garbler's share is p - h0, and the entry 1 - 2p + h0 - h1, which the hash of the other label hides.
    """
    tweaks = garbler.hash.tweaks(wires.size // 2).reshape(wires.shape[:-1])
    zero, one = (_short(garbler.hash(labels, tweaks)) for labels in (wires, garbler.not_(wires)))
    colour = colours(wires).astype(np.uint32)
    swap = (zero ^ one) & np.negative(colour)
    first, second = zero ^ swap, one ^ swap
    shares = colour - first
    entries = np.uint32(1) - colour - shares - second
    return shares, entries.astype(_SHARE, copy=False).tobytes()


def evaluated_shares(evaluator: Evaluator, wires: Wires, table: bytes) -> Shares:
    """Return the evaluator's shares; with the garbler's they sum to the bits modulo 2^32."""
    tweaks = evaluator.hash.tweaks(wires.size // 2).reshape(wires.shape[:-1])
    entries = np.frombuffer(table, _SHARE).reshape(wires.shape[:-1])
    return _short(evaluator.hash(wires, tweaks)) + colours(wires).astype(np.uint32) * entries


def colour_table(wires: Wires) -> bytes:
    """Pack the colours of the garbler's output wires (instances, outputs, 2), each row to whole bytes."""
    return np.packbits(colours(wires).astype(np.uint8), axis=1, bitorder="little").tobytes()


def opened_bits(wires: Wires, table: bytes) -> NDArray[np.bool_]:
    """Read the bits (instances, outputs) of the evaluator's output wires, by the garbler's `colour_table`."""
    instances, outputs = wires.shape[:2]
    packed = np.frombuffer(table, np.uint8).reshape(instances, -1)
    false_colours = np.unpackbits(packed, axis=1, count=outputs, bitorder="little")
    return (colours(wires) ^ false_colours).astype(np.bool_)


def returned_bits(garbler: Garbler, wires: Wires, returned: bytes) -> NDArray[np.bool_]:
    """Read the bits (instances, outputs) that the evaluator's labels of the garbler's output wires stand for.

    The evaluator holds one label of each wire and cannot make the other (authenticity, Zahur, Rosulek and
    Evans 2015), so a bit cannot be turned.

    Raises:
        OstrakaError: `message.invalid` for labels of another number, `crypto.refused` for one that is neither
            of its wire's; which is not told.
    """
    labels = from_bytes(returned, *wires.shape[:-1])
    true = _same(labels, garbler.not_(wires))
    if not (true | _same(labels, wires)).all():
        raise OstrakaError(
            ErrorCode.CRYPTO_REFUSED,
            "A returned label is none of its wire's: return the labels as they were evaluated.",
        )
    return true


def _short(hashes: Blocks) -> Shares:
    return (hashes[..., 1] >> _HIGH_HALF).astype(np.uint32)


def _same(labels: Blocks, others: Blocks) -> NDArray[np.bool_]:
    same: NDArray[np.bool_] = (labels == others).all(axis=-1)
    return same
