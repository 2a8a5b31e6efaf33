"""Output wires as shares, as bits for the evaluator, and as labels that come back."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ostraka.common.crypto import garbling
from ostraka.common.crypto.blocks import to_bytes
from ostraka.common.crypto.circuit import Gates, Wires
from ostraka.common.crypto.garbling import Shares
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.common.crypto.garbled import Garbled, run

P_VALUE = 1e-9
SEEDS = st.binary(min_size=32, max_size=32)


def pairs(gates: Gates, wires: Wires) -> Wires:
    """(2, instances, garbling) to (instances, garbling): the AND of both."""
    return gates.and_(wires[0], wires[1])


def garbled_bits(bits: NDArray[Any], seed: bytes) -> Garbled:
    wires = np.stack([bits, bits]).astype(np.uint64)[..., None]
    return run(pairs, wires, seed)


def drawn_bits(data: Any) -> NDArray[np.bool_]:
    instances, count = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 19))
    size = instances * count
    bits = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    return np.array(bits).reshape(instances, count)


def both_shares(garbled: Garbled) -> tuple[Shares, Shares]:
    own, table = garbling.garbler_shares(garbled.garbler, garbled.zeros)
    assert len(table) == 4 * own.size
    return own, garbling.evaluator_shares(garbled.evaluator, garbled.held, table)


@pytest.mark.heavy
@given(seed=SEEDS, data=st.data())
def test_shares_sum_to_the_bits(seed: bytes, data: Any) -> None:
    bits = drawn_bits(data)
    own, theirs = both_shares(garbled_bits(bits, seed))
    assert own.shape == theirs.shape == bits.shape
    assert np.array_equal(own + theirs, bits.astype(np.uint32))


@pytest.mark.parametrize("bit", [0, 1])
def test_each_share_alone_is_uniform_whatever_the_bits(bit: int) -> None:
    own, theirs = both_shares(garbled_bits(np.full((4_000, 10), bit), bytes(32)))
    for shares in (own, theirs):
        octets = shares.reshape(-1, 1).view(np.uint8)
        for place in range(4):
            observed = np.bincount(octets[:, place], minlength=256)
            assert stats.chisquare(observed).pvalue > P_VALUE


@pytest.mark.parametrize("bit", [0, 1])
def test_the_table_of_shares_is_uniform_whatever_the_bits(bit: int) -> None:
    garbled = garbled_bits(np.full((4_000, 10), bit), bytes(32))
    _, table = garbling.garbler_shares(garbled.garbler, garbled.zeros)
    observed = np.bincount(np.frombuffer(table, np.uint8), minlength=256)
    assert stats.chisquare(observed).pvalue > P_VALUE


def test_shares_of_one_wire_opened_twice_differ() -> None:
    garbled = garbled_bits(np.ones((50, 3)), bytes(32))
    first, again = (garbling.garbler_shares(garbled.garbler, garbled.zeros)[0] for _ in range(2))
    assert not (first == again).any()


@pytest.mark.heavy
@given(seed=SEEDS, data=st.data())
def test_the_evaluator_opens_the_bits_by_the_colours(seed: bytes, data: Any) -> None:
    bits = drawn_bits(data)
    garbled = garbled_bits(bits, seed)
    table = garbling.colour_table(garbled.zeros)
    assert len(table) == bits.shape[0] * ((bits.shape[1] + 7) // 8)
    assert np.array_equal(garbling.open_bits(garbled.held, table), bits)


@pytest.mark.heavy
@given(seed=SEEDS, data=st.data())
def test_the_garbler_learns_the_bits_from_returned_labels(seed: bytes, data: Any) -> None:
    bits = drawn_bits(data)
    garbled = garbled_bits(bits, seed)
    returned = to_bytes(garbled.held)
    assert np.array_equal(garbling.read_returned_bits(garbled.garbler, garbled.zeros, returned), bits)


@given(seed=SEEDS, data=st.data())
def test_a_returned_label_with_one_bit_flipped_is_refused(seed: bytes, data: Any) -> None:
    garbled = garbled_bits(drawn_bits(data), seed)
    returned = bytearray(to_bytes(garbled.held))
    place = data.draw(st.integers(0, 8 * len(returned) - 1))
    returned[place // 8] ^= 1 << place % 8
    with pytest.raises(OstrakaError) as refused:
        garbling.read_returned_bits(garbled.garbler, garbled.zeros, bytes(returned))
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


def test_labels_of_other_wires_are_refused() -> None:
    garbled = garbled_bits(np.ones((2, 1)), bytes(32))
    with pytest.raises(OstrakaError) as refused:
        garbling.read_returned_bits(garbled.garbler, garbled.zeros, to_bytes(garbled.held[::-1]))
    assert refused.value.code == ErrorCode.CRYPTO_REFUSED


@pytest.mark.parametrize("length", [0, 31, 33, 48])
def test_another_number_of_labels_is_refused(length: int) -> None:
    garbled = garbled_bits(np.ones((2, 1)), bytes(32))
    with pytest.raises(OstrakaError) as refused:
        garbling.read_returned_bits(garbled.garbler, garbled.zeros, bytes(length))
    assert refused.value.code == ErrorCode.MESSAGE_INVALID
