import secrets
from typing import Any

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing.ballots import single_label
from ostraka.common.sharing.fixed_point import decode
from ostraka.common.sharing.ring import Ring, RingArray
from ostraka.common.sharing.shares import expand, fresh_seed, split

RINGS = st.sampled_from([Ring(32), Ring(64)])
BALLOTS = arrays(
    np.int64, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6), elements=st.integers(0, 250)
)
P_VALUE = 1e-9


@given(ring=RINGS, ballots=BALLOTS, parties=st.integers(1, 5), data=st.data())
def test_shares_of_every_party_add_up_to_the_histogram_exactly(
    ring: Ring, ballots: NDArray[np.int64], parties: int, data: Any
) -> None:
    seeds = [data.draw(st.binary(min_size=32, max_size=32)) for _ in range(parties)]
    guardian = ring.sum(split(ballots, seed, ring) for seed in seeds)
    querier = ring.sum(expand(seed, len(ballots), ballots.shape[1], ring) for seed in seeds)
    assert np.array_equal(decode(ring.add(guardian, querier), ring), parties * ballots)


@given(ring=RINGS, ballots=BALLOTS, seed=st.binary(min_size=32, max_size=32))
def test_fractional_ballots_are_rounded_toward_zero_by_less_than_a_unit(
    ring: Ring, ballots: NDArray[np.int64], seed: bytes
) -> None:
    clipped = ballots / 7 - 3
    total = decode(
        ring.add(split(clipped, seed, ring), expand(seed, len(ballots), ballots.shape[1], ring)), ring
    )
    assert np.all(np.abs(total) <= np.abs(clipped))
    assert np.all(np.abs(total - clipped) < 2**-16)


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("ballot", [0, 1, 25])
def test_the_guardian_share_is_uniform_whatever_the_ballot(bits: int, ballot: int) -> None:
    ring = Ring(bits)
    ballots = np.full((20_000, 10), ballot)
    share = split(ballots, fresh_seed(), ring)
    octets = np.frombuffer(ring.to_bytes(share), np.uint8).reshape(-1, bits // 8)
    for position in range(bits // 8):
        observed = np.bincount(octets[:, position], minlength=256)
        assert stats.chisquare(observed).pvalue > P_VALUE


def test_one_cell_is_uniform_over_fresh_seeds() -> None:
    ring = Ring(64)
    cells = [int(split(np.array([[25]]), fresh_seed(), ring)[0, 0]) >> 58 for _ in range(6_400)]
    assert stats.chisquare(np.bincount(cells, minlength=64)).pvalue > P_VALUE


def test_two_fresh_seeds_differ_and_come_from_the_source_handed_in() -> None:
    assert fresh_seed() != fresh_seed()
    assert fresh_seed(lambda size: bytes(range(size))) == bytes(range(32))


def test_seeds_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        expand(secrets.token_bytes(16), 1, 1, Ring(64))


@pytest.mark.parametrize("bits", [32, 64])
def test_expansion_is_aes_of_the_counter(bits: int) -> None:
    seed = bytes(range(32))
    blocks = b"".join(counter.to_bytes(16, "big") for counter in range(25))
    cipher = Cipher(algorithms.AES256(seed), modes.ECB())  # noqa: S305 - the reference, block by block
    stream = cipher.encryptor().update(blocks)
    expected = [
        int.from_bytes(stream[start : start + bits // 8], "little") for start in range(0, 400, bits // 8)
    ]
    values = expand(seed, 10, 5, Ring(bits))
    assert values.ravel().tolist() == expected[:50]


@pytest.mark.parametrize(("rows", "width"), [(0, 10), (1, 1), (3, 7)])
def test_expansion_has_the_asked_shape(rows: int, width: int) -> None:
    values = expand(bytes(32), rows, width, Ring(32))
    assert values.shape == (rows, width)
    assert values.dtype == np.uint32


def test_adding_shares_leaves_them_as_they_were() -> None:
    share = np.array([[2**64 - 1]], np.uint64)
    assert Ring(64).sum([share, np.array([[3]], np.uint64)]).tolist() == [[2]]
    assert share.tolist() == [[2**64 - 1]]


@pytest.mark.parametrize(
    "shares",
    [
        [],
        [np.zeros((1, 2), np.uint32), np.zeros((1, 2), np.uint64)],
        [np.zeros((2, 2), np.uint32), np.zeros((1, 2), np.uint32)],
    ],
)
def test_shares_that_do_not_belong_together_are_refused(shares: list[RingArray]) -> None:
    with pytest.raises(ValueError, match="shares"):
        Ring(32).sum(shares)


def test_ballots_count_the_votes_of_each_query() -> None:
    votes = np.array([[0, 2, 1], [0, 2, 2], [1, 2, 0]], np.int32)
    assert single_label(votes, 3).tolist() == [[2, 1, 0], [0, 0, 3], [1, 1, 1]]


@given(votes=arrays(np.int64, st.tuples(st.integers(1, 5), st.integers(0, 6)), elements=st.integers(0, 3)))
def test_every_ballot_sums_to_the_number_of_teachers(votes: Any) -> None:
    ballots = single_label(votes, 4)
    assert ballots.shape == (votes.shape[1], 4)
    assert np.all(ballots.sum(axis=1) == len(votes))


@pytest.mark.parametrize("vote", [-1, 3])
def test_a_vote_outside_the_classes_names_the_teacher_and_not_the_vote(vote: int) -> None:
    with pytest.raises(OstrakaError) as caught:
        single_label(np.array([[0, 1], [2, vote]]), 3)
    assert caught.value.code == ErrorCode.MODEL_INVALID
    assert caught.value.message.startswith("Teacher 1 votes outside the task's 3 classes")
