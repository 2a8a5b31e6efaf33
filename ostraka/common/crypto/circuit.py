"""Circuits on secret words, computed by two parties, and the gates that they consist of.

Wires are uint64 arrays. The last axis is the label: of length 2 when a circuit is garbled or evaluated, and 1
when it is computed in the clear. A word is (bits, instances, ..., label), least significant bit first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BYTES

Wires = NDArray[np.uint64]


class Gates(Protocol):
    """One way to compute a circuit: in the clear, garbling, or evaluating."""

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Return the AND of wires of equal shape, element by element; this is the cost of a circuit."""
        ...

    def not_(self, a: Wires) -> Wires:
        """Return the NOT of every wire; free."""
        ...


_ONE = np.uint64(1)


class PlainGates:
    """Gates on wires that are 0 or 1 (last axis of 1); `ands` counts the AND gates so far."""

    def __init__(self) -> None:
        self.ands = 0

    def and_(self, a: Wires, b: Wires) -> Wires:
        """Return the AND of wires of equal shape; raise ValueError for others, which garbling cannot take."""
        if a.shape != b.shape:
            raise ValueError(f"wires of shapes {a.shape} and {b.shape} have no AND")
        self.ands += a.size
        return a & b

    def not_(self, a: Wires) -> Wires:
        """Return the NOT of every wire."""
        return a ^ _ONE


def split(values: NDArray[Any], bits: int) -> NDArray[np.uint64]:
    """Return the lowest `bits` bits of integers of any sign, (bits, ...), 0 or 1, least significant first."""
    places = np.arange(bits, dtype=np.uint64).reshape(bits, *(1,) * values.ndim)
    return (values.astype(np.uint64) >> places) & _ONE


def join(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the unsigned integers with these bits (bits, ...), uint64."""
    places = np.arange(len(bits), dtype=np.uint64).reshape(len(bits), *(1,) * (bits.ndim - 1))
    values: NDArray[np.uint64] = np.bitwise_or.reduce(bits << places, axis=0)
    return values


Opening = Literal["shares", "evaluator", "both"]
"""Who learns an output bit: nobody (shares of it in Z_2^32), the evaluator, or both."""

WORD_BYTES = 4
"""Number of bytes of a word in a message; words have at most 32 bits."""
SHARE_BYTES = 4
AND_BYTES = 2 * BLOCK_BYTES
"""Number of bytes of a garbled AND gate: two half-gates (Zahur, Rosulek and Evans 2015)."""


@dataclass(frozen=True)
class Circuit:
    """What is computed, the same for every instance (a query, or a query and a label).

    Args:
        word_bits: width of all input words, at most 32.
        words: number of the evaluator's words per instance.
        garbler_words: number of the garbler's words per instance; the first `words` of them are the other
            halves of the evaluator's words, and `build` adds them up.
        outputs: number of output bits per instance.
        opening: who learns them.
        build: from the evaluator's wires (word_bits, instances, words, label) and the garbler's (word_bits,
            instances, garbler_words, label) to the outputs (instances, outputs, label).
        in_field: whether the evaluator's words and their other halves are residues modulo 2^word_bits - 1, as
            in verified ballots, and not modulo 2^word_bits.
    """

    word_bits: int
    words: int
    garbler_words: int
    outputs: int
    opening: Opening
    build: Callable[[Gates, Wires, Wires], Wires]
    in_field: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.word_bits <= 8 * WORD_BYTES:
            raise ValueError(f"words have from 1 to {8 * WORD_BYTES} bits, not {self.word_bits}")
        if not 1 <= self.words <= self.garbler_words:
            raise ValueError("the evaluator has a word or more, and the garbler another half for each")

    @property
    def modulus(self) -> int:
        """The modulus of the sum of a word's two halves."""
        return int(2**self.word_bits) - self.in_field

    @cached_property
    def ands(self) -> int:
        """Number of AND gates per instance, counted by building it in the clear."""
        gates = PlainGates()
        nothing = np.zeros((self.word_bits, 1, self.garbler_words, 1), np.uint64)
        self.build(gates, nothing[:, :, : self.words], nothing)
        return gates.ands

    @property
    def table_bytes(self) -> int:
        """Bytes of an instance's tables: its gates, then the conversion of its outputs to shares."""
        return self.ands * AND_BYTES + self.share_bytes

    @property
    def share_bytes(self) -> int:
        """Number of bytes of an instance's corrections of shares; 0 if outputs are opened."""
        return self.outputs * SHARE_BYTES if self.opening == "shares" else 0

    @property
    def colour_bytes(self) -> int:
        """Number of bytes of the packed colours that open an instance's outputs; 0 if they become shares."""
        return 0 if self.opening == "shares" else (self.outputs + 7) // 8
