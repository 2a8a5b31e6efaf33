"""Circuits of ballots against `ostraka.common.sharing.ballots`: all small logits, and wide ones."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.crypto.ballot_circuits import BallotCircuit, ballot_circuit
from ostraka.common.mechanism import (
    L1,
    Binary,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.sharing.ballots import VOTE
from tests.common.crypto.clear import in_the_clear
from tests.common.crypto.joint import compute

CLASSES: list[Mechanism] = [
    GnMax(sigma=1.0),
    LnMax(gamma=1.0),
    Confident(sigma1=1.0, sigma2=1.0, threshold=1.0),
    Interactive(sigma1=1.0, sigma2=1.0, threshold=1.0, confidence=0.9),
]
LABELS: list[Mechanism] = [
    Binary(sigma=1.0),
    Tau(sigma=1.0, tau=0.6),
    Tau(sigma=1.0, tau=1.3),
    L1(sigma=1.0, tau1=0.9),
    L1(sigma=1.0, tau1=1.7),
    Powerset(sigma=1.0),
    Powerset(sigma=1.0, max_positives=1),
    Powerset(sigma=1.0, max_positives=2),
]


def counted(how: BallotCircuit, logits: NDArray[np.int64], seed: int = 0) -> NDArray[np.uint32]:
    """Return the ballots that the circuit gives for logits (instances, classes) split into shares."""
    circuit = how.circuit
    own = np.random.default_rng(seed).integers(0, 2**circuit.word_bits, logits.shape)
    bits = in_the_clear(circuit, logits - own, own)
    return how.combine(bits.astype(np.uint32))


def expected(mechanism: Mechanism, logits: NDArray[np.int64], weight: int, bits: int) -> NDArray[np.int64]:
    """Return the ballots of a teacher with these logits, in steps of 2^-16 vote."""
    scores = 0.5 + logits / 2.0**bits
    votes = scores if mechanism.multi_label else logits.argmax(axis=1)
    counts = mechanism.ballot.count(votes[None], logits.shape[1], weight)
    return np.asarray(counts * VOTE, dtype=np.int64)


def check(mechanism: Mechanism, logits: NDArray[np.int64], weight: int, bits: int) -> None:
    how = ballot_circuit(mechanism.ballot, logits.shape[1], weight, bits)
    got = counted(how, logits)
    assert got.dtype == np.uint32
    np.testing.assert_array_equal(got, expected(mechanism, logits, weight, bits))


@pytest.mark.parametrize("mechanism", [*CLASSES, *LABELS], ids=repr)
@pytest.mark.parametrize(("bits", "classes"), [(4, 2), (3, 3), (2, 5)])
def test_all_small_logits(mechanism: Mechanism, bits: int, classes: int) -> None:
    signed = range(-(2 ** (bits - 1)), 2 ** (bits - 1))
    check(mechanism, np.array(list(itertools.product(signed, repeat=classes))), VOTE, bits)


@pytest.mark.parametrize("most", [1, 2, 3, 4])
@pytest.mark.parametrize("labels", [5, 6])
def test_the_highest_of_all_small_logits_are_kept_by_rank_and_by_search(most: int, labels: int) -> None:
    logits = np.array(list(itertools.product(range(-2, 2), repeat=labels)))
    check(Powerset(sigma=1.0, max_positives=most), logits, VOTE, 2)


@pytest.mark.parametrize(("labels", "most"), [(22, 2), (11, 3), (9, 4), (8, 7), (255, 1)])
def test_the_most_label_sets_that_a_circuit_counts(labels: int, most: int) -> None:
    few = np.random.default_rng(1).integers(-5, 5, (50, labels))
    check(Powerset(sigma=1.0, max_positives=most), few, VOTE, 20)


@pytest.mark.heavy
@given(
    mechanism=st.sampled_from([*CLASSES, *LABELS]),
    bits=st.integers(17, 32),
    classes=st.integers(2, 8),
    weight=st.integers(1, 2**18),
    data=st.data(),
)
def test_wide_logits(mechanism: Mechanism, bits: int, classes: int, weight: int, data: Any) -> None:
    word = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) | st.integers(-2, 2)
    row = st.lists(word, min_size=classes, max_size=classes)
    check(mechanism, np.array(data.draw(st.lists(row, min_size=1, max_size=3))), weight, bits)


@pytest.mark.heavy
@given(
    tau=st.floats(0.01, 11.0),
    labels=st.integers(2, 120),
    weight=st.integers(1, 2**18),
    first=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_every_number_of_yeses_is_scaled_exactly(
    tau: float, labels: int, weight: int, first: bool, seed: int
) -> None:
    mechanism = Tau(sigma=1.0, tau=tau) if first else L1(sigma=1.0, tau1=tau)
    logits = np.where(np.tri(labels + 1, labels, -1), 1, -1)
    check(mechanism, np.random.default_rng(seed).permuted(logits, axis=1), weight, 3)


def test_a_radius_that_clips_nothing_needs_no_more_than_signs() -> None:
    how = ballot_circuit(Tau(sigma=1.0, tau=2.0).ballot, 4, VOTE, 20)
    assert how.circuit.ands == ballot_circuit(Binary(sigma=1.0).ballot, 4, VOTE, 20).circuit.ands == 4 * 19


@pytest.mark.parametrize("mechanism", [*CLASSES, *LABELS], ids=repr)
def test_shares_of_output_bits_become_shares_of_ballots(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(2)
    logits = rng.integers(-(2**19), 2**19, (7, 5))
    how = ballot_circuit(mechanism.ballot, 5, VOTE + 1, 20)
    own = rng.integers(0, 2**20, logits.shape)
    bits = in_the_clear(how.circuit, logits - own, own).astype(np.uint32)
    one = rng.integers(0, 2**32, bits.shape, dtype=np.uint32)
    np.testing.assert_array_equal(
        how.combine(one) + how.combine(bits - one), expected(mechanism, logits, VOTE + 1, 20)
    )


@pytest.mark.parametrize("mechanism", [*CLASSES[:1], *LABELS], ids=repr)
def test_garbled_it_is_the_same(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(3)
    circuit = ballot_circuit(mechanism.ballot, 6, VOTE, 20).circuit
    words, own = rng.integers(0, 2**20, (2, 5, 6))
    outputs = compute(circuit, words.astype(np.uint64), own.astype(np.uint64))
    np.testing.assert_array_equal(outputs, in_the_clear(circuit, words, own))


@pytest.mark.parametrize(
    ("mechanism", "classes", "ands"),
    [
        (GnMax(sigma=1.0), 10, 538),
        (Binary(sigma=1.0), 14, 266),
        (Tau(sigma=1.0, tau=1.0), 6, 151),
        (Tau(sigma=1.0, tau=1.0), 14, 469),
        (Tau(sigma=1.0, tau=1.0), 101, 3726),
        (Powerset(sigma=1.0), 8, 399),
        (Powerset(sigma=1.0, max_positives=3), 6, 485),
        (Powerset(sigma=1.0, max_positives=2), 22, 2373),
    ],
    ids=repr,
)
def test_gates_a_query_for_logits_of_20_bits(mechanism: Mechanism, classes: int, ands: int) -> None:
    assert ballot_circuit(mechanism.ballot, classes, VOTE, 20).circuit.ands == ands


def test_records_are_not_votes() -> None:
    with pytest.raises(ValueError, match="count no votes"):
        ballot_circuit(NoiseCluster(sigma=1.0).ballot, 10, VOTE, 20)
