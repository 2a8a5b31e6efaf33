"""Steps that come whole, and steps that do not."""

from collections.abc import Iterator
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.rpc.steps import (
    CHUNK_BYTES,
    StepId,
    read_header,
    read_reply,
    read_request,
    reply_messages,
    request_messages,
)
from ostraka.protos.ostraka.v1 import common_pb2

STEP = StepId("s", 7, common_pb2.STAGE_BALLOTS)


def chunk(data: bytes) -> common_pb2.Step:
    return common_pb2.Step(chunk=common_pb2.Chunk(data=data))


def read(messages: Iterator[Any], most: int = 1 << 30) -> bytes:
    return read_request(read_header(messages), messages, most=most)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, 2 * CHUNK_BYTES + 5])
def test_a_request_comes_as_it_was_sent(size: int) -> None:
    sent = list(request_messages(STEP, bytes(size)))
    assert StepId.of(sent[0].header) == STEP
    assert all(len(message.chunk.data) <= CHUNK_BYTES for message in sent)
    assert read(iter(sent)) == bytes(size)


def test_a_reply_comes_in_the_parts_it_is_made_in() -> None:
    made = iter([b"ab", b"", bytes(CHUNK_BYTES + 1)])
    messages = reply_messages(STEP, CHUNK_BYTES + 3, made)
    parts = list(read_reply(messages, STEP, CHUNK_BYTES + 3))
    assert b"".join(parts) == b"ab" + bytes(CHUNK_BYTES + 1)


@pytest.mark.parametrize(
    "alter",
    [
        lambda sent: sent[1:],
        lambda sent: sent[:-1],
        lambda sent: [*sent, chunk(b"x")],
        lambda sent: [sent[0], chunk(b"yz")],
        lambda sent: [],
    ],
    ids=["no header", "cut off", "too long", "other bytes", "nothing"],
)
def test_a_request_that_is_not_whole_is_refused(alter: Any) -> None:
    with pytest.raises(OstrakaError) as refused:
        read(iter(alter(list(request_messages(STEP, b"ab")))))
    assert refused.value.code in (ErrorCode.MESSAGE_INVALID, ErrorCode.MESSAGE_TOO_LARGE)


def test_a_request_larger_than_its_step_is_refused_before_it_is_read() -> None:
    messages = request_messages(STEP, bytes(11))
    with pytest.raises(OstrakaError) as refused:
        read(messages, most=10)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert len(next(messages).chunk.data) == 11


@pytest.mark.parametrize(
    ("step", "size", "parts"),
    [
        (StepId("s", 8, common_pb2.STAGE_BALLOTS), 2, [b"ab"]),
        (StepId("t", 7, common_pb2.STAGE_BALLOTS), 2, [b"ab"]),
        (StepId("s", 7, common_pb2.STAGE_CHECK), 2, [b"ab"]),
        (STEP, 3, [b"abc"]),
        (STEP, 2, [b"a"]),
        (STEP, 2, [b"a", b""]),
    ],
)
def test_a_reply_of_another_step_or_size_is_refused(step: StepId, size: int, parts: list[bytes]) -> None:
    with pytest.raises(OstrakaError) as refused:
        list(read_reply(reply_messages(step, size, parts), STEP, 2))
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


def test_a_reply_of_more_than_its_step_has_is_read_no_further() -> None:
    parts = iter([b"a", b"bc", b"d"])
    with pytest.raises(OstrakaError) as refused:
        list(read_reply(reply_messages(STEP, 2, parts), STEP, 2))
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert list(parts) == [b"d"]
