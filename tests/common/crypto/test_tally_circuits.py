"""Circuits of a blind tally against what they say: all small words, and whole sums by hypothesis.

`tests.guardian.blind.test_circuit_inputs` holds them, with the guardian's words, to the mechanisms
themselves.
"""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.tally_circuits import (
    answers_of,
    argmax_circuit,
    check_circuit,
    check_of,
    labels_of,
    querying_words,
    sign_circuit,
)
from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    Powerset,
    Tau,
)
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from tests.common.crypto.clear import in_the_clear
from tests.common.crypto.joint import compute

CHECK = Check(sigma=1.0, threshold=1.0)
RING = Ring(32)
FIELD = PrimeField(31)
CIRCUITS = {
    f"{name} {of}": circuit
    for of, modulus in (("of a ring", RING), ("of a field", FIELD))
    for name, circuit in {
        "argmax of 2": argmax_circuit(2, modulus),
        "argmax of 5": argmax_circuit(5, modulus),
        "check of 3": check_circuit(3, modulus),
        "label check": check_circuit(1, modulus),
        "sign": sign_circuit(modulus),
    }.items()
}


def all_words(bits: int, words: int) -> NDArray[np.int64]:
    return np.array(list(itertools.product(range(2**bits), repeat=words)))


def split(sums: NDArray[np.int64], seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    own = np.random.default_rng(seed).integers(0, 2**32, sums.shape)
    return sums - own, own


@pytest.mark.parametrize(("bits", "columns"), [(4, 1), (3, 2), (2, 3)])
def test_all_small_checks(bits: int, columns: int) -> None:
    cases = all_words(bits, columns + 1)
    sums, needed = cases[:, :-1], cases[:, -1:]
    theirs, own = split(sums)
    circuit = replace(check_circuit(columns, RING), word_bits=bits)
    passed = in_the_clear(circuit, theirs, np.hstack([own, needed]))
    strictly = needed >= 2 ** (bits - 1)
    expected = np.where(strictly, sums > needed, sums >= needed).any(axis=1)
    np.testing.assert_array_equal(passed[:, 0], expected)


@pytest.mark.parametrize(("bits", "columns"), [(4, 2), (3, 3), (2, 5)])
def test_all_small_counts(bits: int, columns: int) -> None:
    sums = all_words(bits, columns)
    noise = np.random.default_rng(bits).integers(0, 2**bits, sums.shape)
    theirs, own = split(sums)
    circuit = replace(argmax_circuit(columns, RING), word_bits=bits)
    places = labels_of(in_the_clear(circuit, theirs, np.hstack([own, noise])))
    np.testing.assert_array_equal(places, signed(folded(sums, bits) + noise, bits).argmax(axis=1))


def folded(sums: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """Return values that turn back a quarter of the ring from 0, where they stay for one step."""
    own, half = signed(sums, bits), 2 ** (bits - 1)
    return np.where(own >= half // 2, half - 1 - own, np.where(own < -half // 2, -half - 1 - own, own))


def signed(values: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    return np.asarray((values + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1))


@pytest.mark.parametrize("bits", [1, 2, 5])
def test_all_small_signs(bits: int) -> None:
    sums = all_words(bits, 1) - 2 ** (bits - 1)
    not_negative = in_the_clear(replace(sign_circuit(RING), word_bits=bits), *split(sums))
    np.testing.assert_array_equal(not_negative, sums >= 0)


@pytest.mark.parametrize(("bits", "columns"), [(4, 1), (3, 2), (2, 3)])
def test_all_small_checks_in_a_field(bits: int, columns: int) -> None:
    prime = 2**bits - 1
    cases = np.array(list(itertools.product(*[range(prime)] * columns, range(2**bits))))
    sums, needed = cases[:, :-1], cases[:, -1:]
    theirs, own = split_in_field(sums, prime)
    circuit = replace(check_circuit(columns, FIELD), word_bits=bits)
    passed = in_the_clear(circuit, theirs, np.hstack([own, needed]))
    strictly = needed >= 2 ** (bits - 1)
    expected = np.where(strictly, sums > needed, sums >= needed).any(axis=1)
    np.testing.assert_array_equal(passed[:, 0], expected)


@pytest.mark.parametrize(("bits", "columns"), [(5, 2), (4, 3), (3, 4)])
def test_all_small_counts_in_a_field(bits: int, columns: int) -> None:
    prime = 2**bits - 1
    sums = np.array(list(itertools.product(range(prime), repeat=columns)))
    # Noise that never wraps around: folded sums stay within a quarter of the residues.
    noise = np.random.default_rng(bits).integers(-(2 ** (bits - 2)), 2 ** (bits - 2), sums.shape)
    theirs, own = split_in_field(sums, prime)
    circuit = replace(argmax_circuit(columns, FIELD), word_bits=bits)
    places = labels_of(in_the_clear(circuit, theirs, np.hstack([own, noise % 2**bits])))
    lifted = np.where(sums > prime // 2, sums - prime, sums)
    turned = np.where(np.abs(lifted) < 2 ** (bits - 2), lifted, np.sign(lifted) * (prime // 2) - lifted)
    np.testing.assert_array_equal(places, (turned + noise).argmax(axis=1))


@pytest.mark.parametrize("bits", [2, 5])
def test_all_small_signs_in_a_field(bits: int) -> None:
    prime = 2**bits - 1
    sums = np.arange(prime)[:, None]
    not_negative = in_the_clear(replace(sign_circuit(FIELD), word_bits=bits), *split_in_field(sums, prime))
    np.testing.assert_array_equal(not_negative, sums <= prime // 2)


def split_in_field(sums: NDArray[np.int64], prime: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    own = np.random.default_rng(1).integers(0, prime, sums.shape)
    return (sums - own) % prime, own


@pytest.mark.heavy
@given(st.lists(st.integers(0, 2**30 - 1), min_size=2, max_size=12), st.integers(0, 2**32))
def test_the_first_of_the_largest_sums_wins(row: list[int], seed: int) -> None:
    sums = np.array([row, [max(row)] * len(row)])
    theirs, own = split(sums, seed)
    words = np.hstack([own, np.full_like(own, -5)])
    places = labels_of(in_the_clear(argmax_circuit(len(row), RING), theirs, words))
    assert places.tolist() == [row.index(max(row)), 0]


@pytest.mark.parametrize(
    ("circuit", "ands"),
    [
        (argmax_circuit(10, RING), 1172),
        (check_circuit(10, RING), 639),
        (check_circuit(1, RING), 63),
        (sign_circuit(RING), 30),
        (argmax_circuit(10, FIELD), 1445),
        (check_circuit(10, FIELD), 929),
        (check_circuit(1, FIELD), 92),
        (sign_circuit(FIELD), 61),
    ],
    ids=[
        f"{name} in a {of}" for of in ("ring", "field") for name in ("argmax", "check", "label check", "sign")
    ],
)
def test_gates_an_instance(circuit: Circuit, ands: int) -> None:
    assert circuit.ands == ands


@pytest.mark.parametrize("circuit", CIRCUITS.values(), ids=CIRCUITS)
def test_garbled_it_is_the_same(circuit: Circuit) -> None:
    rng = np.random.default_rng(4)
    words = rng.integers(0, circuit.modulus, (50, circuit.words))
    own = rng.integers(0, circuit.modulus, (50, circuit.garbler_words))
    outputs = compute(circuit, words.astype(np.uint64), own.astype(np.uint64))
    np.testing.assert_array_equal(outputs, in_the_clear(circuit, words, own))


@pytest.mark.parametrize(
    ("mechanism", "checked", "columns"),
    [
        (GnMax(sigma=1.0), 0, 5),
        (LnMax(gamma=1.0), 0, 5),
        (Confident(sigma1=1.0, sigma2=1.0, threshold=1.0), 5, 5),
        (Binary(sigma=1.0), 0, 1),
        (Tau(sigma=1.0, tau=1.0), 0, 1),
        (L1(sigma=1.0, tau1=1.0), 0, 1),
        (Binary(sigma=1.0, check=CHECK), 1, 1),
        (Tau(sigma=1.0, tau=1.0, check=CHECK), 1, 1),
        (L1(sigma=1.0, tau1=1.0, check=CHECK), 1, 1),
    ],
    ids=repr,
)
def test_stages_of_each_mechanism(mechanism: Mechanism, checked: int, columns: int) -> None:
    check, answers = check_of(mechanism, 5, RING), answers_of(mechanism, 5, RING)
    assert (check.words if check else 0) == checked
    assert check is None or check.opening == "both"
    assert (answers.words, answers.opening) == (columns, "evaluator")


@pytest.mark.parametrize(
    "mechanism",
    [Powerset(sigma=1.0), Interactive(sigma1=1.0, sigma2=1.0, threshold=1.0, confidence=0.9)],
    ids=repr,
)
def test_what_needs_the_histogram_itself_has_no_circuit(mechanism: Mechanism) -> None:
    with pytest.raises(ValueError, match=f"{mechanism.kind} is not tallied blindly"):
        answers_of(mechanism, 5, FIELD)


def test_words_are_sums_a_query_or_a_query_and_label_cut_to_the_circuits_width() -> None:
    sums = np.array([[1, 2**31 + 2], [3, 2**32 - 1]], dtype=np.uint32)
    assert querying_words(sums, argmax_circuit(2, RING)).tolist() == sums.tolist()
    assert querying_words(sums, sign_circuit(RING)).tolist() == [[1], [2], [3], [2**31 - 1]]
