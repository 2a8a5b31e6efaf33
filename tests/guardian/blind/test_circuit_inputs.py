"""The guardian's words, in circuits, against `ostraka.guardian.mechanisms` on equal sums and draws."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.crypto.circuit import Circuit
from ostraka.common.crypto.tally_circuits import (
    answers_of,
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
    LnMax,
    Mechanism,
    Powerset,
    Tau,
)
from ostraka.common.sharing.modulus import Modulus, RingArray
from ostraka.common.sharing.prime_field import PrimeField
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.blind.circuit_inputs import (
    Words,
    answer_words,
    check_words,
    confident_check,
    halve_differences,
    label_check,
)
from ostraka.guardian.mechanisms import Answers, release
from tests.common.crypto.clear import in_the_clear

RING = Ring(32)
FIELD = PrimeField(31)
MODULI = pytest.mark.parametrize("modulus", [RING, FIELD], ids=["ring", "field"])
VOTE = 2**16
HALF = 2**31
FARTHEST = 2**30

CHECK = Check(sigma=2.0, threshold=30.0)
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=1.0),
    LnMax(gamma=1.0),
    Confident(sigma1=2.0, sigma2=1.0, threshold=30.0),
    Confident(sigma1=2.0, sigma2=1.0, threshold=1e-6),
    Confident(sigma1=2.0, sigma2=1.0, threshold=1e300),
    Binary(sigma=1.0),
    Tau(sigma=1.0, tau=1.0),
    L1(sigma=1.0, tau1=1.0),
    Binary(sigma=1.0, check=CHECK),
    Tau(sigma=1.0, tau=1.0, check=CHECK),
    L1(sigma=1.0, tau1=1.0, check=CHECK),
]


class Given:
    """Draws that a test chooses, in lattice steps; all uniform values are equal, or coins."""

    def __init__(self, *draws: NDArray[np.int64], coins: NDArray[np.bool_] | None = None) -> None:
        self._draws: Iterator[NDArray[np.int64]] = iter(draws)
        self._coins = coins

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        drawn = next(self._draws)
        assert drawn.shape == shape
        return drawn

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return self.gaussian(scale, shape)

    def uniform(self, shape: tuple[int, ...]) -> NDArray[np.uint64]:
        if self._coins is None:
            return np.zeros(shape, np.uint64)
        return np.where(self._coins, np.uint64(2**63), np.uint64(2**63 - 1))


def halves(sums: NDArray[Any], seed: int = 0, modulus: Modulus = RING) -> tuple[RingArray, RingArray]:
    """Return the guardian's half and the querying party's of sums of any size and sign."""
    own = modulus.wrap(np.random.default_rng(seed).integers(0, 2**32, sums.shape, dtype=np.uint32))
    return own, modulus.subtract(modulus.wrap(sums), own)


def opened(circuit: Circuit, theirs: RingArray, words: Words) -> NDArray[np.bool_]:
    assert words.dtype == np.uint64
    assert words.max(initial=0) < 2**circuit.word_bits
    return in_the_clear(circuit, querying_words(theirs, circuit), words)


def blindly(
    mechanism: Mechanism,
    sums: NDArray[Any],
    totals: NDArray[np.int64],
    noise: Given,
    modulus: Modulus,
    seed: int = 0,
) -> Answers:
    """Return what both stages tell, the answers' circuits computed for all queries."""
    classes = sums.shape[1]
    own, theirs = halves(sums, seed, modulus)
    shape = (len(sums), mechanism.answers(classes))
    check = check_of(mechanism, classes, modulus)
    passed = np.ones(shape, dtype=np.bool_)
    if check is not None:
        passed = opened(check, theirs, check_words(mechanism, own, totals, noise, modulus)).reshape(shape)
    circuit = answers_of(mechanism, classes, modulus)
    answers = opened(circuit, theirs, answer_words(mechanism, own, totals, noise, modulus))
    return Answers.where(passed, labels_of(answers).reshape(shape))


def drawn(mechanism: Mechanism, rows: int, classes: int, draw: Any) -> list[NDArray[np.int64]]:
    """Draws for one release, in its order."""
    match mechanism:
        case GnMax() | LnMax():
            shapes: list[tuple[int, ...]] = [(rows, classes)]
        case Confident():
            shapes = [(rows,), (rows, classes)]
        case Binary(check=check) | Tau(check=check) | L1(check=check):
            shapes = [(rows, classes)] * (check is not None) + [(2, rows, classes)]
    return [draw(shape) for shape in shapes]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@given(
    rows=st.integers(1, 3),
    classes=st.integers(2, 6),
    near=st.sampled_from([0, 30 * VOTE, FARTHEST, HALF]),
    scale=st.sampled_from([2, VOTE, 40 * VOTE, HALF]),
    seed=st.integers(0, 2**32),
)
def test_answers_are_those_of_the_mechanism(
    mechanism: Mechanism, rows: int, classes: int, near: int, scale: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    sums = near + rng.integers(-scale, scale, (rows, classes))
    totals = rng.integers(0, 50 * VOTE, rows)
    coins = rng.integers(0, 2, (rows, classes)).astype(np.bool_) if mechanism.multi_label else None
    draws = drawn(mechanism, rows, classes, lambda shape: rng.integers(-scale, scale, shape))
    voted = release(
        RING.wrap(sums),
        mechanism,
        Given(*draws, coins=coins),
        RING,
        classes=classes,
        totals=totals,
    )
    blind = blindly(mechanism, sums, totals, Given(*draws, coins=coins), RING, seed)
    np.testing.assert_array_equal(blind.answered, voted.answered)
    np.testing.assert_array_equal(blind.labels, voted.labels)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
@given(
    rows=st.integers(1, 3),
    classes=st.integers(2, 6),
    near=st.sampled_from([0, 30 * VOTE, 2**29, FARTHEST]),
    scale=st.sampled_from([2, VOTE, 40 * VOTE, 2**27]),
    seed=st.integers(0, 2**32),
)
def test_answers_of_verified_ballots_are_those_of_the_mechanism(
    mechanism: Mechanism, rows: int, classes: int, near: int, scale: int, seed: int
) -> None:
    """Sums of several labels are such as honest ballots give: of others twice the count wraps around."""
    rng = np.random.default_rng(seed)
    honest = 2**27 if mechanism.multi_label else near
    sums = honest + rng.integers(-scale, scale, (rows, classes))
    totals = rng.integers(0, 50 * VOTE, rows)
    coins = rng.integers(0, 2, (rows, classes)).astype(np.bool_) if mechanism.multi_label else None
    draws = drawn(mechanism, rows, classes, lambda shape: rng.integers(-scale, scale, shape))
    voted = release(
        FIELD.wrap(sums), mechanism, Given(*draws, coins=coins), FIELD, classes=classes, totals=totals
    )
    blind = blindly(mechanism, sums, totals, Given(*draws, coins=coins), FIELD, seed)
    np.testing.assert_array_equal(blind.answered, voted.answered)
    np.testing.assert_array_equal(blind.labels, voted.labels)


NEEDED = [-(2**62), -HALF, -1, 0, 1, 2, 3, VOTE, FARTHEST - 1, FARTHEST, FARTHEST + 1, HALF, 2**62 + 1]
DRAWS = [-(2**63), -(2**62), -FARTHEST - 1, -FARTHEST, -2, -1, 0, 1, 2, FARTHEST, FARTHEST + 1, 2**63 - 1]
TOTALS = [0, 1, 2, VOTE, FARTHEST - 1, FARTHEST, HALF - 2, HALF - 1, HALF, HALF + 1, 2**32 - 1, 2**40 + 3]
EDGES = np.array([0, VOTE, FARTHEST, HALF, -FARTHEST])
STEPS = np.arange(-3, 4)


def reached(distance: NDArray[np.int64], needed: int, draw: int) -> NDArray[np.bool_]:
    """With Python's integers, which do not overflow."""
    return np.array([int(value) + draw >= needed for value in distance.ravel()]).reshape(distance.shape)


@MODULI
@pytest.mark.parametrize("needed", NEEDED)
def test_a_check_is_exact_at_every_edge(needed: int, modulus: Modulus) -> None:
    for draw in DRAWS:
        decisive = min(max(needed - draw, -HALF), HALF)
        columns = np.concatenate([EDGES, [decisive, -decisive]])
        sums = (columns[:, None] + STEPS).reshape(-1, 1)
        own, theirs = halves(np.hstack([sums, np.zeros_like(sums)]), modulus=modulus)
        words = confident_check(own, np.int64(needed), np.full(len(sums), draw), modulus)
        passed = opened(check_circuit(2, modulus), theirs, words)[:, 0]
        expected = reached(modulus.distance(modulus.wrap(sums)), needed, draw)[:, 0]
        np.testing.assert_array_equal(passed, expected, err_msg=f"draw {draw}")


@MODULI
@pytest.mark.parametrize("needed", NEEDED)
def test_a_check_of_a_label_is_exact_at_every_edge(needed: int, modulus: Modulus) -> None:
    for total, draw in product(TOTALS, (-FARTHEST, -1, 0, 5)):
        decisive = min(max(needed - draw, -HALF), HALF)
        columns = np.concatenate([EDGES, [decisive, -decisive, total - decisive, total + decisive, total]])
        sums = (columns[:, None] + STEPS).reshape(1, -1)
        own, theirs = halves(sums, modulus=modulus)
        words = label_check(own, np.array([total]), np.int64(needed), np.full(sums.shape, draw), modulus)
        passed = opened(check_circuit(1, modulus), theirs, words).reshape(sums.shape)
        against = modulus.distance(modulus.wrap(np.int64(total) - sums))
        distance = np.maximum(modulus.distance(modulus.wrap(sums)), against)
        told = f"total {total}, draw {draw}"
        np.testing.assert_array_equal(passed, reached(distance, needed, draw), err_msg=told)


@MODULI
@given(
    needed=st.integers(-5, FARTHEST + 5),
    draw=st.integers(-(2**31), 2**31),
    row=st.lists(st.integers(0, 2**32 - 1), min_size=2, max_size=12),
    seed=st.integers(0, 2**32),
)
def test_checks_of_any_sums(needed: int, draw: int, row: list[int], seed: int, modulus: Modulus) -> None:
    own, theirs = halves(np.array([row]), seed, modulus)
    words = confident_check(own, np.int64(needed), np.array([draw]), modulus)
    passed = opened(check_circuit(len(row), modulus), theirs, words)
    largest = modulus.distance(modulus.wrap(np.array([row]))).max(axis=1)
    np.testing.assert_array_equal(passed[:, 0], reached(largest, needed, draw))


@pytest.mark.parametrize("coin", [False, True])
@pytest.mark.parametrize("total", [0, 1, 7, HALF - 1])
def test_a_label_without_majority_is_a_coins_at_half_the_ring_too(coin: bool, total: int) -> None:
    positives = (np.array([0, HALF // 2])[:, None] + STEPS).reshape(1, -1)
    own, theirs = halves(positives)
    no = np.zeros(positives.shape, np.int64)
    for yes in (no, no + 1, no - total, no + 2**40):
        words = halve_differences(own, np.array([total]), yes - no, np.full(positives.shape, coin), RING)
        answers = opened(sign_circuit(RING), theirs, words).reshape(positives.shape)
        difference = RING.lift(RING.wrap(2 * positives - total + yes))
        expected = np.select([difference == 0, difference == -HALF], [coin, not coin], difference > 0)
        np.testing.assert_array_equal(answers, expected)


def test_what_has_no_check_or_needs_the_histogram_itself_gets_no_words() -> None:
    sums, totals = np.zeros((1, 4), np.uint32), np.zeros(1, np.int64)
    for mechanism in (GnMax(sigma=1.0), Binary(sigma=1.0)):
        with pytest.raises(ValueError, match="has no check"):
            check_words(mechanism, sums, totals, Given(), RING)
    with pytest.raises(ValueError, match="is not tallied blindly"):
        answer_words(Powerset(sigma=1.0), sums, totals, Given(), RING)
