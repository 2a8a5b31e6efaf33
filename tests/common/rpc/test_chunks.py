import hashlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc import join, split


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


@given(st.binary(max_size=100), st.integers(1, 10))
def test_what_was_split_joins_again(data: bytes, size: int) -> None:
    chunks = list(split(data, size))
    assert all(len(chunk.data) == size for chunk in chunks[:-1])
    assert join((chunk.data for chunk in chunks), expected=len(data), sha256=sha256(data)) == data


def test_chunks_are_one_mebibyte_by_default() -> None:
    assert [len(chunk.data) for chunk in split(bytes((1 << 20) + 1))] == [1 << 20, 1]


def test_reading_stops_as_soon_as_there_is_too_much() -> None:
    taken = 0

    def endless() -> Iterator[bytes]:
        nonlocal taken
        while True:
            taken += 1
            yield b"1234"

    with pytest.raises(OstrakaError) as refusal:
        join(endless(), expected=10, sha256=b"")
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert taken == 3


@pytest.mark.parametrize(("data", "expected"), [(b"1234", 5), (b"1235", 4), (b"", 1)])
def test_too_little_or_other_bytes_are_refused(data: bytes, expected: int) -> None:
    with pytest.raises(OstrakaError) as refusal:
        join((chunk.data for chunk in split(data)), expected=expected, sha256=sha256(b"1234"))
    assert refusal.value.code is ErrorCode.MESSAGE_INVALID
