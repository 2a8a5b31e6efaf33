"""Circuits on secret words, computed by two parties."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ostraka.common.crypto.blocks import BLOCK_BYTES
from ostraka.common.crypto.gates import Gates, Wires
from ostraka.common.crypto.plain import PlainGates

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
    """

    word_bits: int
    words: int
    garbler_words: int
    outputs: int
    opening: Opening
    build: Callable[[Gates, Wires, Wires], Wires]

    def __post_init__(self) -> None:
        """Refuses what the messages cannot carry."""
        if not 1 <= self.word_bits <= 8 * WORD_BYTES:
            raise ValueError(f"words have from 1 to {8 * WORD_BYTES} bits, not {self.word_bits}")
        if not 1 <= self.words <= self.garbler_words:
            raise ValueError("the evaluator has a word or more, and the garbler another half for each")

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
