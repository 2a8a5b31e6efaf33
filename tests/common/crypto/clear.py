"""Circuits computed in the clear, to compare garbled circuits with."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit, PlainGates, Wires, join, split


def plain_word(values: NDArray[Any], bits: int) -> Wires:
    """Return integers as a word of plain wires, (bits, ..., 1)."""
    return split(values, bits)[..., None]


def plain_values(word: Wires) -> NDArray[np.uint64]:
    """Return the unsigned integers that a word of plain wires (bits, ..., 1) holds, uint64."""
    return join(word[..., 0])


def in_the_clear(circuit: Circuit, words: NDArray[Any], garbler_words: NDArray[Any]) -> NDArray[np.bool_]:
    """Compute outputs (instances, outputs) of words (instances, words) and (instances, garbler_words)."""
    theirs = plain_word(words, circuit.word_bits)
    own = plain_word(garbler_words, circuit.word_bits)
    return circuit.build(PlainGates(), theirs, own)[..., 0].astype(np.bool_)
