"""Circuits of a blind tally on two halves of a histogram, modulo 2^32 or, for verified ballots, 2^31 - 1.

Before they become inputs, the guardian adds noise to its half, and public offsets to what a check compares
(`ostraka.guardian.blind.circuit_inputs`). So the circuits are the same whatever a mechanism's parameters are.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit, Gates, Wires
from ostraka.common.crypto.word_arithmetic import add, add_carry, add_in_field, any_of, argmax, index
from ostraka.common.mechanism import Mechanism
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.prime_field import PrimeField

Adder = Callable[[Gates, Wires, Wires], Wires]
HALVED_BITS = 31
"""Bits of a number of which only twice its value is used, modulo 2^32 or 2^31 - 1."""


def check_of(mechanism: Mechanism, classes: int, modulus: Modulus) -> Circuit | None:
    """Return the circuit of a mechanism's check per query, or per label of one; None without a check.

    `modulus` is that of the sums, with 32 bits, or with 31 for verified ballots.

    Raises:
        ValueError: for a mechanism that is not tallied blindly.
    """
    require_blind(mechanism)
    if mechanism.noisy_check is None:
        return None
    return check_circuit(1 if mechanism.multi_label else classes, modulus)


def answers_of(mechanism: Mechanism, classes: int, modulus: Modulus) -> Circuit:
    """Return the circuit of a mechanism's answers, one for each query or for each label of one.

    Raises:
        ValueError: for a mechanism that is not tallied blindly.
    """
    require_blind(mechanism)
    return sign_circuit(modulus) if mechanism.multi_label else argmax_circuit(classes, modulus)


def require_blind(mechanism: Mechanism) -> None:
    """Raise ValueError for a mechanism that is not tallied blindly."""
    if not mechanism.blind:
        raise ValueError(f"mechanism {mechanism.kind} is not tallied blindly")


def querying_words(sums: RingArray, circuit: Circuit) -> NDArray[np.uint64]:
    """Return the querying party's words (instances, words) from its halves (queries, width) of the histogram.

    An instance is a query, or a query and a label, query by query.
    """
    words: NDArray[np.uint64] = sums.reshape(-1, circuit.words).astype(np.uint64)
    return words % np.uint64(circuit.modulus)


def labels_of(bits: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the answers (instances,) in the output bits (instances, outputs) of `answers_of`."""
    labels: NDArray[np.int64] = (bits.astype(np.int64) << np.arange(bits.shape[1])).sum(axis=1)
    return labels


def check_circuit(columns: int, modulus: Modulus) -> Circuit:
    """Build the circuit for whether some column's sum reaches the guardian's last word; opened to both.

    Sums are compared as unsigned numbers. A last word with its top bit must be exceeded, so that a word of
    only ones is out of reach, just as 0 is always reached. Takes 64 ANDs per column minus 1, or 93 in the
    field.
    """
    return Circuit(
        word_bits=modulus.bits,
        words=columns,
        garbler_words=columns + 1,
        outputs=1,
        opening="both",
        build=partial(_some_reach, _adder(modulus)),
        in_field=_is_field(modulus),
    )


def argmax_circuit(columns: int, modulus: Modulus) -> Circuit:
    """Build the circuit for the index of the largest folded sum with noise, the first of equal ones.

    The bits of the index come lowest first. The guardian's last `columns` words are the noise, in two's
    complement; sums are folded as in `Modulus.fold`. The result is opened only to the evaluator.
    `word_arithmetic` states the ANDs; 62 more per column are needed, or 91 in the field.
    """
    return Circuit(
        word_bits=modulus.bits,
        words=columns,
        garbler_words=2 * columns,
        outputs=(columns - 1).bit_length(),
        opening="evaluator",
        build=partial(_place_of_largest, _adder(modulus), _add_noise if _is_field(modulus) else add),
        in_field=_is_field(modulus),
    )


def sign_circuit(modulus: Modulus) -> Circuit:
    """Build the circuit for whether a signed 31-bit sum is 0 or more, opened to the evaluator. 30 or 61 ANDs.

    Words with a top bit are negative, both in two's complement and in the field of 2^31 - 1.
    """
    return Circuit(
        word_bits=HALVED_BITS,
        words=1,
        garbler_words=1,
        outputs=1,
        opening="evaluator",
        build=partial(_not_negative, _adder(modulus)),
        in_field=_is_field(modulus),
    )


def _is_field(modulus: Modulus) -> bool:
    return isinstance(modulus, PrimeField)


def _adder(modulus: Modulus) -> Adder:
    return add_in_field if _is_field(modulus) else add


def _some_reach(adder: Adder, gates: Gates, theirs: Wires, own: Wires) -> Wires:
    sums = adder(gates, theirs, own[:, :, :-1])
    needed = np.broadcast_to(own[:, :, -1:], sums.shape)
    return any_of(gates, _reach(gates, sums, needed).swapaxes(0, 1))[:, None]


def _reach(gates: Gates, sums: Wires, needed: Wires) -> Wires:
    """Return the carry of sums + not needed + c, c = 1 (reach) unless `needed` has its top bit (exceed)."""
    reached = gates.not_(needed[-1])
    for x, y in zip(sums, gates.not_(needed), strict=True):
        reached = reached ^ gates.and_(x ^ reached, y ^ reached)
    return reached


def _place_of_largest(adder: Adder, add_noise: Adder, gates: Gates, theirs: Wires, own: Wires) -> Wires:
    columns = theirs.shape[2]
    folded = _fold(adder(gates, theirs, own[:, :, :columns]))
    return index(argmax(gates, add_noise(gates, folded, own[:, :, columns:]))).swapaxes(0, 1)


def _add_noise(gates: Gates, folded: Wires, noise: Wires) -> Wires:
    """Add noise in two's complement to residues of a field, which are folded into ones' complement."""
    return add_carry(gates, folded, noise, folded[-1])


def _fold(sums: Wires) -> Wires:
    """Return words as `Modulus.fold` folds them; no ANDs."""
    low = sums[:-2]
    next_bit = sums[-2:-1]
    sign = sums[-1:]
    return np.concatenate([low ^ sign ^ next_bit, sign, sign])


def _not_negative(adder: Adder, gates: Gates, theirs: Wires, own: Wires) -> Wires:
    return gates.not_(adder(gates, theirs, own)[-1])
