"""Circuits of a blind tally on two halves of a histogram, 32-bit sums of ballots.

The guardian adds noise to its half, and public offsets to what a check compares, before they become inputs
(`ostraka.guardian.blind.circuit_inputs`), so the circuits are the same whatever a mechanism's parameters are.
"""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit, Gates, Wires
from ostraka.common.crypto.word_arithmetic import add, any_of, argmax, index
from ostraka.common.mechanism import Mechanism

SUM_BITS = 32
"""Of a sum of ballots, which is a value of Z_2^32."""
HALVED_BITS = SUM_BITS - 1
"""Of a number of which only twice its value is looked at, modulo 2^32."""


def check_of(mechanism: Mechanism, classes: int) -> Circuit | None:
    """Return the circuit of a mechanism's check per query, or per label of one; None without a check.

    Raises:
        ValueError: for a mechanism that is not tallied blindly.
    """
    require_blind(mechanism)
    if mechanism.noisy_check is None:
        return None
    return label_check_circuit() if mechanism.multi_label else check_circuit(classes)


def answers_of(mechanism: Mechanism, classes: int) -> Circuit:
    """Return the circuit of a mechanism's answers, one for each query or for each label of one.

    Raises:
        ValueError: for a mechanism that is not tallied blindly.
    """
    require_blind(mechanism)
    return sign_circuit() if mechanism.multi_label else argmax_circuit(classes)


def require_blind(mechanism: Mechanism) -> None:
    """Raise ValueError for a mechanism that is not tallied blindly."""
    if not mechanism.blind:
        raise ValueError(f"mechanism {mechanism.kind} is not tallied blindly")


def querying_words(sums: NDArray[np.uint32], circuit: Circuit) -> NDArray[np.uint64]:
    """Return the querying party's words (instances, words) of its halves (queries, width) of the histogram.

    An instance is a query, or a query and a label, query by query.
    """
    words: NDArray[np.uint64] = sums.reshape(-1, circuit.words).astype(np.uint64)
    return words & np.uint64(2**circuit.word_bits - 1)


def labels_of(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the answers (instances,) that the output bits (instances, outputs) of `answers_of` say."""
    labels: NDArray[np.int64] = (bits.astype(np.int64) << np.arange(bits.shape[1])).sum(axis=1)
    return labels


def check_circuit(columns: int) -> Circuit:
    """Whether some column's sum reaches the guardian's last word; the bit opens to both.

    Sums are compared as unsigned numbers. A last word of 2^31 or more must be exceeded, so that 2^32 - 1 is
    out of reach, as 0 is always reached. 64 ANDs a column less 1.
    """
    return Circuit(
        word_bits=SUM_BITS,
        words=columns,
        garbler_words=columns + 1,
        outputs=1,
        opening="both",
        build=_some_reach,
    )


def label_check_circuit() -> Circuit:
    """As `check_circuit`, for the one sum of a query and label; 63 ANDs."""
    return check_circuit(1)


def argmax_circuit(columns: int) -> Circuit:
    """Build the circuit for the place of the largest folded sum with noise, lowest of equals, low bit first.

    The guardian's last `columns` words are the noise, in two's complement; sums are folded as `Ring.fold`
    does. It opens to the evaluator alone. `word_arithmetic` tells the ANDs, to which come 62 a
    column.
    """
    return Circuit(
        word_bits=SUM_BITS,
        words=columns,
        garbler_words=2 * columns,
        outputs=(columns - 1).bit_length(),
        opening="evaluator",
        build=_place_of_largest,
    )


def sign_circuit() -> Circuit:
    """Whether a 31-bit sum in two's complement is 0 or more; opens to the evaluator alone. 30 ANDs."""
    return Circuit(
        word_bits=HALVED_BITS,
        words=1,
        garbler_words=1,
        outputs=1,
        opening="evaluator",
        build=_not_negative,
    )


def _some_reach(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    sums = add(gates, theirs, own[:, :, :-1])
    needed = np.broadcast_to(own[:, :, -1:], sums.shape)
    return any_of(gates, _reach(gates, sums, needed).swapaxes(0, 1))[:, None]


def _reach(gates: Gates, sums: Wires, needed: Wires) -> Wires:
    """Return the carry of sums + not needed + c, c = 1 (reach) unless `needed` has its top bit (exceed)."""
    reached = gates.not_(needed[-1])
    for x, y in zip(sums, gates.not_(needed), strict=True):
        reached = reached ^ gates.and_(x ^ reached, y ^ reached)
    return reached


def _place_of_largest(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    columns = theirs.shape[2]
    folded = _fold(add(gates, theirs, own[:, :, :columns]))
    return index(argmax(gates, add(gates, folded, own[:, :, columns:]))).swapaxes(0, 1)


def _fold(sums: Wires) -> Wires:
    """Return words as `Ring.fold` folds them; no ANDs."""
    low = sums[:-2]
    next_bit = sums[-2:-1]
    sign = sums[-1:]
    return np.concatenate([low ^ sign ^ next_bit, sign, sign])


def _not_negative(gates: Gates, theirs: Wires, own: Wires) -> Wires:
    return gates.not_(add(gates, theirs, own)[-1])
