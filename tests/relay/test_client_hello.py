"""The server name is read as OpenSSL sends it, over any records; whatever else comes is no ClientHello."""

import ssl

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.relay.client_hello import MAX_HELLO_BYTES, NotTlsError, count_needed_bytes, server_name

NAME = "party.north.sepsis.ostraka.internal"


def hello(name: str | None = NAME) -> bytes:
    """Return what OpenSSL sends first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    sent = ssl.MemoryBIO()
    tls = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    return sent.read()


HELLO = hello()


def split(data: bytes, sizes: list[int]) -> bytes:
    """Return the same handshake in records of these sizes, the last one as long as is left."""
    body = data[5:]
    records = []
    for size in [*sizes, len(body)]:
        part, body = body[:size], body[size:]
        if part:
            records.append(data[:3] + len(part).to_bytes(2) + part)
    return b"".join(records)


def read(data: bytes) -> tuple[str, int]:
    """Read a connection as the relay does, and return the name and how often it looked."""
    there = b""
    looks = 0
    while needed := count_needed_bytes(there):
        assert needed > len(there)
        assert needed <= len(data)
        there = data[:needed]
        looks += 1
    return server_name(there), looks


def test_the_name_is_read_and_nothing_beyond_the_hello() -> None:
    assert read(HELLO + b"\x17\x03\x03 more") == (NAME, 2)
    assert server_name(hello(None)) == ""
    assert server_name(hello("PARTY.North.sepsis.ostraka.internal")) == NAME


@given(st.lists(st.integers(1, 200), max_size=20))
def test_a_hello_in_several_records_is_read_as_one(sizes: list[int]) -> None:
    assert read(split(HELLO, sizes))[0] == NAME


@given(st.integers(0, len(HELLO) - 1), st.binary(max_size=4))
def test_a_hello_that_was_changed_is_read_or_refused(at: int, put: bytes) -> None:
    changed = HELLO[:at] + put + HELLO[at + len(put) :]
    try:
        if not count_needed_bytes(changed):
            server_name(changed)
    except NotTlsError:
        pass


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waited_for_within_bounds(data: bytes) -> None:
    try:
        needed = count_needed_bytes(data)
    except NotTlsError:
        return
    assert needed == 0 or len(data) < needed <= MAX_HELLO_BYTES


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n",
        b"\x16\x03\x01\x00\x00",  # an empty record
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",  # a ServerHello
        b"\x16\x03\x01\x00\x04\x01\x00\xff\xff",  # longer than any
        b"\x16\x03\x01\xff\xff",
    ],
)
def test_what_no_hello_begins_like_is_refused_at_once(data: bytes) -> None:
    with pytest.raises(NotTlsError):
        count_needed_bytes(data)


def test_a_hello_of_one_byte_records_is_waited_for_no_longer_than_the_limit() -> None:
    longest = b"\x16\x03\x01\x00\x01\x01" + b"\x16\x03\x01\x00\x01\x00" * (MAX_HELLO_BYTES // 6)
    with pytest.raises(NotTlsError):
        count_needed_bytes(split(HELLO[:5] + b"\x01\x00\x3f\x00", [1] * 4) + longest[6:])
