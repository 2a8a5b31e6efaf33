"""Layout of the messages of a two-party computation."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.blocks import BLOCK_BYTES, Blocks
from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.gates import Wires
from ostraka.common.errors import ErrorCode, OstrakaError

_WORD = np.dtype("<u4")


def cut(pieces: Sequence[bytes], sizes: Sequence[int]) -> Iterator[bytes]:
    """Yield the bytes of `pieces`, however they are cut, in pieces of `sizes`, of as many bytes in all."""
    waiting = iter(pieces)
    held = b""
    for size in sizes:
        gathered, missing = [held], size - len(held)
        while missing > 0:
            gathered.append(next(waiting))
            missing -= len(gathered[-1])
        joined = b"".join(gathered)
        held = joined[size:]
        yield joined[:size]


def wires_of(rows: Blocks, circuit: Circuit) -> Wires:
    """Return the evaluator's words, (word_bits, instances, words, 2), from labels in their transfer's order.

    They are transferred instance by instance, word by word, from the least significant bit.
    """
    ordered = rows.reshape(-1, circuit.words, circuit.word_bits, 2).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(ordered)


def garbler_bytes(circuit: Circuit) -> int:
    """Bytes of the labels of an instance's words of the garbler."""
    return circuit.garbler_words * circuit.word_bits * BLOCK_BYTES


def words_of(data: bytes, circuit: Circuit) -> NDArray[np.uint64]:
    """Read a correction (instances, words), uint64; raise `message.invalid` if it is none of the circuit."""
    words = np.frombuffer(data, _WORD).astype(np.uint64).reshape(-1, circuit.words)
    if (words > mask_of(circuit)).any():
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID,
            f"A correction has words of {circuit.word_bits} bits: use the same version everywhere.",
        )
    return words


def words_bytes(words: NDArray[np.uint64]) -> bytes:
    """Write a correction as `words_of` reads it."""
    return words.astype(_WORD).tobytes()


def mask_of(circuit: Circuit) -> np.uint64:
    """All bits of a word."""
    return np.uint64(2**circuit.word_bits - 1)


def check_size(what: str, data: bytes, size: int) -> None:
    """Raise `message.invalid` where a message has another size than its computation's."""
    if len(data) != size:
        raise OstrakaError(
            ErrorCode.MESSAGE_INVALID, f"The {what} has {size} bytes, not {len(data)}: send it whole."
        )


def out_of_order(missing: str) -> OstrakaError:
    """Return the error of a step before the one it needs."""
    return OstrakaError(ErrorCode.BATCH_OUT_OF_ORDER, f"This step comes after {missing}: do that first.")
