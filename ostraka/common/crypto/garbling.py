"""Garbling and evaluating circuits: half-gates with free XOR, on whole arrays of wires.

Zahur, Rosulek and Evans 2015 (two blocks an AND gate), Kolesnikov and Schneider 2008 (XOR and NOT are free).
A wire has two labels that differ by delta; the garbler holds the label of 0, the evaluator the label of the
wire's bit and never the other. The lowest bit of a label, its colour, says which table row to use; it is
independent of the wire's bit, and it selects by masks, never by a branch or an index.
"""

import numpy as np

from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks, colours, from_bytes, spread
from ostraka.common.crypto.gates import Wires
from ostraka.common.crypto.hashing import TweakedHash

AND_BLOCKS = 2


class Garbler:
    """Gates on the labels of 0, which leave a table of two blocks for every AND gate.

    A garbling and its part, a run of instances, have a hash of their own: no two may share both `binding`
    and `part`.
    """

    def __init__(self, delta: Blocks, binding: bytes, part: int) -> None:
        """Garble under `delta` (2,), whose colour is 1, what `binding` names."""
        self.hash = TweakedHash(binding, part)
        self.delta = delta
        self._deltas = delta[None]
        self._tables: list[Blocks] = []

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Return the labels of 0 of a AND b; two half-gates, the garbler knows a bit of only one of them."""
        labels = np.empty((2, 2, a.size // 2, 2), np.uint64)
        labels[0, 0] = a.reshape(-1, 2)
        labels[1, 0] = b.reshape(-1, 2)
        deltas = self._repeated(a.size // 2)
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
        return (a.reshape(-1, 2) ^ self._repeated(a.size // 2)).reshape(a.shape)

    def tables(self) -> bytes:
        """Return the tables of all AND gates so far, in the order of the calls."""
        return b"".join(rows.data for rows in self._tables)

    def _repeated(self, count: int) -> Blocks:
        """Delta `count` times: adding whole arrays is several times faster than broadcasting two words."""
        if len(self._deltas) < count:
            self._deltas = np.tile(self.delta, (count, 1))
        return self._deltas[:count]


class Evaluator:
    """Gates on the labels that the evaluator holds, one a wire, using up the garbler's tables."""

    def __init__(self, tables: bytes, binding: bytes, part: int) -> None:
        """Evaluate what `Garbler` with the same binding and part left in `tables`.

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
