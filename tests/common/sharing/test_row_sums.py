"""Row sums of two shares against the votes that a party has."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.sharing.modulus import RingArray
from ostraka.common.sharing.ring import Ring
from ostraka.common.sharing.shares import DIGEST_BYTES, KEY_BYTES, RowSums, expand, split

QUERIES, CLASSES, TEACHERS = 6, 4, 5
KEY, SEED = b"k" * KEY_BYTES, b"s" * 32
TOTALS = np.full(QUERIES, TEACHERS << 16)


def ballots(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).multinomial(TEACHERS, [1 / CLASSES] * CLASSES, QUERIES)


def match(guardian: RingArray, ring: Ring, totals: np.ndarray = TOTALS) -> bool:
    sums = RowSums.of(KEY, {"a": expand(SEED, QUERIES, CLASSES, ring)}, ring)
    assert len(sums.digests["a"]) == DIGEST_BYTES
    return sums.match("a", guardian, totals, ring)


@pytest.mark.parametrize("bits", [32, 64])
@given(seed=st.integers(0, 10**6), row=st.integers(0, QUERIES - 1), change=st.integers(1, 2**32 - 1))
def test_only_the_right_sum_of_every_row_matches(bits: int, seed: int, row: int, change: int) -> None:
    ring = Ring(bits)
    guardian = split(ballots(seed), SEED, ring)
    assert match(guardian, ring)
    guardian[[row], seed % CLASSES] += np.array([change], ring.dtype)
    assert not match(guardian, ring)


def test_votes_that_move_within_a_row_stay_unseen() -> None:
    ring = Ring(64)
    moved = split(ballots(1) + np.array([1000, -1000, 0, 0]), SEED, ring)
    assert match(moved, ring)


def test_weighted_and_absent_votes_count_as_scheduled() -> None:
    ring, weight = Ring(64), 40_001
    present = np.arange(QUERIES) % 2 == 0
    weighted = ballots(2) * present[:, None] * (weight / 2**16)
    assert match(split(weighted, SEED, ring), ring, present * TEACHERS * weight)
    assert not match(split(weighted, SEED, ring), ring, np.full(QUERIES, TEACHERS * weight))
