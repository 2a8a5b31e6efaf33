from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.crypto import blocks
from ostraka.common.errors import ErrorCode, OstrakaError

LABEL = st.binary(min_size=16, max_size=16)


@given(labels=st.lists(LABEL, max_size=6))
def test_blocks_go_to_bytes_and_back(labels: list[bytes]) -> None:
    array = blocks.from_bytes(b"".join(labels), len(labels))
    assert array.shape == (len(labels), 2)
    assert blocks.to_bytes(array) == b"".join(labels)
    assert blocks.colours(array).tolist() == [label[0] & 1 for label in labels]


@pytest.mark.parametrize("size", [0, 31, 33, 48])
def test_a_message_of_another_length_is_no_labels(size: int) -> None:
    with pytest.raises(OstrakaError) as refused:
        blocks.from_bytes(bytes(size), 2)
    assert refused.value.code == ErrorCode.MESSAGE_INVALID


@given(delta=LABEL, data=st.data())
def test_active_labels_differ_from_those_of_0_by_delta_where_a_bit_is_1(delta: bytes, data: Any) -> None:
    labels = data.draw(st.lists(LABEL, min_size=1, max_size=6))
    bits = data.draw(st.lists(st.integers(0, 1), min_size=len(labels), max_size=len(labels)))
    difference = blocks.delta_of(blocks.from_bytes(delta))
    assert blocks.to_bytes(difference) == bytes([delta[0] | 1]) + delta[1:]
    zeros = blocks.from_bytes(b"".join(labels), len(labels))
    found = blocks.active(zeros, np.array(bits), difference) ^ zeros
    assert np.array_equal(found, np.array([difference if bit else 0 * difference for bit in bits]))
