"""Circuits on secret words, computed by two parties, and the gates that they are made of.

Wires are uint64 arrays. The last axis is the label: 2 long when a circuit is garbled or evaluated, 1 long
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
        """Element by element AND of wires of equal shape; what a circuit costs."""
        ...

    def not_(self, a: Wires) -> Wires:
        """Element by element NOT; free."""
        ...


_ONE = np.uint64(1)


class PlainGates:
    """Gates on wires that are 0 or 1 (last axis of 1); `ands` counts the AND gates so far."""

    def __init__(self) -> None:
        self.ands = 0

    def and_(self, a: Wires, b: Wires) -> Wires:
        """AND of wires of equal shape; raises ValueError for other shapes, as garbling would go wrong."""
        if a.shape != b.shape:
            raise ValueError(f"wires of shapes {a.shape} and {b.shape} have no AND")
        self.ands += a.size
        return a & b

    def not_(self, a: Wires) -> Wires:
        """NOT of every wire."""
        return a ^ _ONE


def split(values: NDArray[Any], bits: int) -> NDArray[np.uint64]:
    """Integers of any sign as their lowest `bits` bits, (bits, ...), 0 or 1, least significant first."""
    places = np.arange(bits, dtype=np.uint64).reshape(bits, *(1,) * values.ndim)
    return (values.astype(np.uint64) >> places) & _ONE


def join(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the unsigned integers whose bits (bits, ...) these are, uint64."""
    places = np.arange(len(bits), dtype=np.uint64).reshape(len(bits), *(1,) * (bits.ndim - 1))
    values: NDArray[np.uint64] = np.bitwise_or.reduce(bits << places, axis=0)
    return values


Opening = Literal["shares", "evaluator", "both"]
"""Who learns an output bit: nobody (shares of it in Z_2^32), the evaluator, or both."""

WORD_BYTES = 4
"""A word in a message; words have at most 32 bits."""
SHARE_BYTES = 4
AND_BYTES = 2 * BLOCK_BYTES
"""A garbled AND gate: two half-gates (Zahur, Rosulek and Evans 2015)."""


@dataclass(frozen=True)
class Circuit:
    """What is computed, the same for every instance (a query, or a query and a label).

    Args:
        word_bits: width of all input words, at most 32.
        words: the evaluator's words an instance.
        garbler_words: the garbler's words an instance; the first `words` of them are the other halves of the
            evaluator's, and `build` adds them up.
        outputs: output bits an instance.
        opening: who learns them.
        build: from the evaluator's wires (word_bits, instances, words, label) and the garbler's (word_bits,
            instances, garbler_words, label) to the outputs (instances, outputs, label).
        in_field: whether the evaluator's words and their other halves are residues modulo 2^word_bits - 1, as
            verified ballots are, and not modulo 2^word_bits.
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
        """What the two halves of a word add up modulo."""
        return int(2**self.word_bits) - self.in_field

    @cached_property
    def ands(self) -> int:
        """AND gates an instance, counted by building it in the clear."""
        gates = PlainGates()
        nothing = np.zeros((self.word_bits, 1, self.garbler_words, 1), np.uint64)
        self.build(gates, nothing[:, :, : self.words], nothing)
        return gates.ands

    @property
    def table_bytes(self) -> int:
        """Bytes of an instance's tables: its gates, then what turns its outputs into shares."""
        return self.ands * AND_BYTES + self.share_bytes

    @property
    def share_bytes(self) -> int:
        """Bytes of an instance's corrections of shares, none where outputs open."""
        return self.outputs * SHARE_BYTES if self.opening == "shares" else 0

    @property
    def colour_bytes(self) -> int:
        """Bytes of the packed colours that open an instance's outputs, none where they become shares."""
        return 0 if self.opening == "shares" else (self.outputs + 7) // 8
