"""Garbling and evaluating circuits: half-gates with free XOR, on whole arrays of wires, and outputs.

Zahur, Rosulek and Evans 2015 (two blocks an AND gate), Kolesnikov and Schneider 2008 (XOR and NOT are free).
A wire has two labels that differ by delta. The garbler has the label of 0, and the evaluator only the label
of the wire's bit. The lowest bit of a label, its colour, selects the table row. It is independent of the
wire's bit, and it selects by masks, never by a branch or an index.

Own derivation of the shares, from the colour's two cases: `garbler_shares`.
"""

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks, colours, from_bytes, spread
from ostraka.common.crypto.circuit import Wires
from ostraka.common.crypto.transcripts import derive
from ostraka.common.errors import ErrorCode, OstrakaError

_PURPOSE = "key of the garbling hash"


class TweakedHash:
    """TMMO: p(p(x) ^ tweak) ^ p(x), where p is AES-128 (Guo, Katz, Wang and Yu 2020, section 7.4).

    The key of p is public and hashed from the binding of a garbling. So work spent on one garbling reveals
    nothing about another; tweaks alone would not ensure that (Guo, Katz, Wang, Weng and Yu 2020). Every call
    uses fresh tweaks, counted from 0.
    """

    def __init__(self, binding: bytes, part: int) -> None:
        key = derive(binding, _PURPOSE, part.to_bytes(8, "little"))
        self._permutation = Permutation(key[:BLOCK_BYTES])
        self._next_tweak = 0

    def tweaks(self, count: int) -> NDArray[np.uint64]:
        """Return the next `count` tweaks, each used once."""
        first = self._next_tweak
        self._next_tweak += count
        return np.arange(first, self._next_tweak, dtype=np.uint64)

    def __call__(self, blocks: Blocks, tweaks: NDArray[np.uint64]) -> Blocks:
        """Return the hashes of blocks (..., 2) under tweaks, whose shape broadcasts to (...).

        Both labels of a wire are hashed under one tweak, but only by the garbler.
        """
        inner = self._permutation(blocks)
        tweaked = inner.copy()
        tweaked[..., 0] ^= tweaks
        outer = self._permutation(tweaked)
        outer ^= inner
        return outer


class Permutation:
    """AES-128 under a fixed key, on every block of an array (FIPS 197)."""

    def __init__(self, key: bytes) -> None:
        mode = modes.ECB()  # noqa: S305 (a permutation is wanted)
        self._cipher = Cipher(algorithms.AES128(key), mode).encryptor()

    def __call__(self, blocks: Blocks) -> Blocks:
        """Return the encrypted blocks, of the same shape."""
        plain = np.ascontiguousarray(blocks)
        room = np.empty(plain.nbytes + BLOCK_BYTES, np.uint8)
        self._cipher.update_into(plain.reshape(-1).view(np.uint8).data, room.data)
        return room[: plain.nbytes].view(np.uint64).reshape(plain.shape)


AND_BLOCKS = 2
"""Number of blocks of an AND gate: one for each half-gate (Zahur, Rosulek and Evans 2015)."""


class Garbler:
    """Gates on the labels of 0, which leave a table of two blocks for every AND gate.

    Each part of a garbling, a run of instances, has a hash of its own: no two may share both `binding` and
    `part`.
    """

    def __init__(self, delta: Blocks, binding: bytes, part: int) -> None:
        """Garble under `delta` (2,), whose colour is 1, for this `binding`."""
        self.hash = TweakedHash(binding, part)
        self.delta = delta
        self._deltas = delta[None]
        self._tables: list[Blocks] = []

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Return the labels of 0 of a AND b; two half-gates, the garbler knows a bit of only one of them."""
        labels = np.empty((2, 2, a.size // 2, 2), np.uint64)
        labels[0, 0] = a.reshape(-1, 2)
        labels[1, 0] = b.reshape(-1, 2)
        deltas = self._repeat_delta(a.size // 2)
        np.bitwise_xor(labels[:, 0], deltas, out=labels[:, 1])
        hashes = self.hash(labels, self.hash.tweaks(a.size).reshape(2, 1, -1))
        masks = spread(colours(labels[:, 0]))
        rows = hashes[:, 0] ^ hashes[:, 1]
        rows[0] ^= masks[1] & deltas
        masks &= rows
        masks ^= hashes[:, 0]
        rows[1] ^= labels[0, 0]
        self._tables.append(rows)
        label: Wires = masks[0] ^ masks[1]
        return label.reshape(a.shape)

    def not_(self, a: Wires) -> Wires:
        """Return the labels of 0 of NOT a, which are the labels of 1 of a."""
        return (a.reshape(-1, 2) ^ self._repeat_delta(a.size // 2)).reshape(a.shape)

    def tables(self) -> bytes:
        """Return the tables of all AND gates so far, in the order of the calls."""
        return b"".join(rows.data for rows in self._tables)

    def _repeat_delta(self, count: int) -> Blocks:
        """Return delta `count` times; adding whole arrays is several times faster than broadcasting."""
        if len(self._deltas) < count:
            self._deltas = np.tile(self.delta, (count, 1))
        return self._deltas[:count]


class Evaluator:
    """Gates on the evaluator's labels, one per wire, which consume the garbler's tables."""

    def __init__(self, tables: bytes, binding: bytes, part: int) -> None:
        """Evaluate the `tables` of a `Garbler` with the same binding and part.

        Raises:
            OstrakaError: `message.invalid` for tables that do not end with a block.
        """
        self.hash = TweakedHash(binding, part)
        self._tables = from_bytes(tables, len(tables) // BLOCK_BYTES)
        self._used = 0

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Return the label of a AND b."""
        labels = np.stack([a.reshape(-1, 2), b.reshape(-1, 2)])
        rows = self._next_rows(a.size // 2)
        hashes = self.hash(labels, self.hash.tweaks(a.size).reshape(2, -1))
        masks = spread(colours(labels))
        masks[0] &= rows[0]
        masks[1] &= rows[1] ^ labels[0]
        masks ^= hashes
        label: Wires = masks[0] ^ masks[1]
        return label.reshape(a.shape)

    def not_(self, a: Wires) -> Wires:
        """Return the label itself: the garbler inverted its meaning."""
        return a

    def _next_rows(self, count: int) -> Blocks:
        first = self._used
        self._used += AND_BLOCKS * count
        return self._tables[first : self._used].reshape(AND_BLOCKS, count, 2)


Shares = NDArray[np.uint32]
_SHARE = np.dtype("<u4")
_HIGH_HALF = np.uint64(32)


def garbler_shares(garbler: Garbler, wires: Wires) -> tuple[Shares, bytes]:
    """Return the garbler's shares of output bits in Z_2^32, shaped as `wires` without labels, and a table.

    Let p be the colour of the label of 0, and h0 and h1 the hashes of the labels of colours 0 and 1. The
    evaluator's share is h0, or h1 plus the table's entry; the label of colour 0 stands for the bit p. So the
    garbler's share is p - h0, and the entry is 1 - 2p + h0 - h1, which the hash of the other label hides.
    """
    tweaks = garbler.hash.tweaks(wires.size // 2).reshape(wires.shape[:-1])
    zero, one = (_short(garbler.hash(labels, tweaks)) for labels in (wires, garbler.not_(wires)))
    colour = colours(wires).astype(np.uint32)
    swap = (zero ^ one) & np.negative(colour)
    first = zero ^ swap
    second = one ^ swap
    shares = colour - first
    entries = np.uint32(1) - colour - shares - second
    return shares, entries.astype(_SHARE, copy=False).tobytes()


def evaluator_shares(evaluator: Evaluator, wires: Wires, table: bytes) -> Shares:
    """Return the evaluator's shares; with the garbler's they sum to the bits modulo 2^32."""
    tweaks = evaluator.hash.tweaks(wires.size // 2).reshape(wires.shape[:-1])
    entries = np.frombuffer(table, _SHARE).reshape(wires.shape[:-1])
    return _short(evaluator.hash(wires, tweaks)) + colours(wires).astype(np.uint32) * entries


def colour_table(wires: Wires) -> bytes:
    """Pack the colours of the garbler's output wires (instances, outputs, 2), each row to whole bytes."""
    return np.packbits(colours(wires).astype(np.uint8), axis=1, bitorder="little").tobytes()


def open_bits(wires: Wires, table: bytes) -> NDArray[np.bool_]:
    """Read the bits (instances, outputs) of the evaluator's output wires, by the garbler's `colour_table`."""
    instances, outputs = wires.shape[:2]
    packed = np.frombuffer(table, np.uint8).reshape(instances, -1)
    false_colours = np.unpackbits(packed, axis=1, count=outputs, bitorder="little")
    return (colours(wires) ^ false_colours).astype(np.bool_)


def read_returned_bits(garbler: Garbler, wires: Wires, returned: bytes) -> NDArray[np.bool_]:
    """Read the bits (instances, outputs) for the evaluator's labels of the garbler's output wires.

    The evaluator has one label of each wire and cannot make the other (authenticity, Zahur, Rosulek and Evans
    2015), so it cannot change a bit.

    Raises:
        OstrakaError: `message.invalid` for another number of labels, `crypto.refused` for a label that is
            neither of its wire's; the message does not say which.
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
