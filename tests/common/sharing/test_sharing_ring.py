from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.sharing import FRACTION_BITS
from ostraka.common.sharing.fixed_point import decode, encode
from ostraka.common.sharing.ring import Ring, RingArray

VOTE = 2**FRACTION_BITS
BOTH = pytest.mark.parametrize("bits", [32, 64])


def values(ring: Ring, *integers: int) -> RingArray:
    return np.array([integer % 2**ring.bits for integer in integers], ring.dtype)


def edges(bits: int) -> list[int]:
    corners = [eighth * 2 ** (bits - 3) for eighth in range(8)]
    near = [0, 1, -1, VOTE, -VOTE, VOTE - 1, VOTE + 1, VOTE // 2, -VOTE // 2]
    return [corner + step for corner in corners for step in near]


@BOTH
@given(integer=st.integers(-(2**64), 2**64))
def test_lift_and_distance_agree_with_integers(bits: int, integer: int) -> None:
    ring = Ring(bits)
    value = integer % 2**bits
    lifted = value - 2**bits if value >= 2 ** (bits - 1) else value
    circular = min(value, 2**bits - value, 2 ** (bits - 2))
    assert ring.lift(values(ring, integer)).tolist() == [lifted]
    assert ring.distance(values(ring, integer)).tolist() == [circular]


@BOTH
@given(integer=st.integers(0, 2**64), votes=st.integers(-3, 3))
@example(integer=2**31, votes=1)
@example(integer=2**63, votes=-1)
def test_distance_moves_by_at_most_the_votes_added(bits: int, integer: int, votes: Any) -> None:
    ring = Ring(bits)
    before, after = ring.distance(values(ring, integer, integer + votes * VOTE))
    assert abs(int(after) - int(before)) <= abs(votes) * VOTE


@BOTH
def test_distance_moves_by_at_most_one_vote_at_every_edge_of_the_ring(bits: int) -> None:
    ring = Ring(bits)
    before = ring.distance(values(ring, *edges(bits)))
    for step in (VOTE, -VOTE, 1, -1):
        after = ring.distance(values(ring, *(edge + step for edge in edges(bits))))
        assert np.abs(after - before).max() <= abs(step)


@BOTH
def test_an_offset_of_half_the_ring_makes_one_vote_change_the_distance_by_nothing(bits: int) -> None:
    ring = Ring(bits)
    counts = values(ring, *(votes * VOTE + 2 ** (bits - 1) for votes in range(250)))
    assert set(ring.distance(counts).tolist()) == {2 ** (bits - 2)}


@BOTH
def test_lifting_before_noise_would_turn_one_vote_into_a_flip(bits: int) -> None:
    ring = Ring(bits)
    offset = 2 ** (bits - 1) - 10 * VOTE
    nine, ten = ring.lift(values(ring, offset + 9 * VOTE, offset + 10 * VOTE))
    assert int(nine) - int(ten) == 2**bits - VOTE


@BOTH
def test_distance_of_an_honest_count_is_the_count(bits: int) -> None:
    ring = Ring(bits)
    counts = np.arange(0, 2 ** (bits - 2 - FRACTION_BITS), 2 ** (bits - 24))
    assert np.array_equal(ring.distance(encode(counts, ring)), counts.astype(np.int64) * VOTE)


@BOTH
@given(data=st.data())
def test_bytes_are_little_endian_and_come_back(bits: int, data: Any) -> None:
    ring = Ring(bits)
    drawn = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=6, max_size=6))
    array = values(ring, *drawn).reshape(2, 3)
    encoded = ring.to_bytes(array)
    assert encoded == b"".join(integer.to_bytes(bits // 8, "little") for integer in drawn)
    assert np.array_equal(ring.from_bytes(encoded, 2, 3), array)
    assert ring.from_bytes(encoded, 2, 3).flags.writeable


@pytest.mark.parametrize("size", [0, 47, 49, 96])
def test_a_share_of_another_length_is_refused(size: int) -> None:
    with pytest.raises(OstrakaError, match="2 rows and 3 columns has 48 bytes") as caught:
        Ring(64).from_bytes(bytes(size), 2, 3)
    assert caught.value.code == ErrorCode.MESSAGE_INVALID


@BOTH
def test_values_of_another_ring_are_refused(bits: int) -> None:
    foreign: Any = np.zeros(3, np.int64)
    for use in (Ring(bits).lift, Ring(bits).distance, Ring(bits).to_bytes):
        with pytest.raises(ValueError, match=f"{bits}-bit ring"):
            use(foreign)


@pytest.mark.parametrize("bits", [0, 8, 16, 63, 128])
def test_other_widths_are_refused(bits: int) -> None:
    with pytest.raises(ValueError, match="32 or 64"):
        Ring(bits)


@BOTH
@given(votes=st.floats(-250, 250))
@example(votes=2**-17)
@example(votes=-(2**-17))
@example(votes=-1.5)
def test_fractions_round_toward_zero(bits: int, votes: Any) -> None:
    ring = Ring(bits)
    assert ring.lift(encode(np.array([votes]), ring)).tolist() == [int(votes * VOTE)]


@BOTH
@pytest.mark.parametrize("kind", [np.int64, np.int32, np.int16, np.uint8, np.float32])
def test_whole_votes_are_exact_in_every_dtype(bits: int, kind: type[np.generic]) -> None:
    ring = Ring(bits)
    votes = np.array([0, 1, 100, 127], kind)
    assert decode(encode(votes, ring), ring).tolist() == [0, 1, 100, 127]


@BOTH
@pytest.mark.parametrize("sign", [1, -1])
def test_votes_beyond_the_ring_are_refused(bits: int, sign: int) -> None:
    limit = 2 ** (bits - 1 - FRACTION_BITS)
    for votes in (np.array([sign * limit]), np.array([sign * float(limit)])):
        with pytest.raises(ValueError, match="smaller"):
            encode(votes, Ring(bits))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_votes_that_are_no_numbers_are_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="finite"):
        encode(np.array([value]), Ring(64))
