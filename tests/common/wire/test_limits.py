"""Lists and texts in messages are counted before anything loops over them."""

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.message import Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import MAX_LENGTH, check_limits, most_bytes
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2


@pytest.mark.parametrize(
    ("fits", "too_long"),
    [
        (common_pb2.Plan(parties=["a"] * 10_000), common_pb2.Plan(parties=["a"] * 10_001)),
        (common_pb2.Plan(labels=range(65_536)), common_pb2.Plan(labels=range(65_537))),
        (common_pb2.Manifest(training="x" * 200), common_pb2.Manifest(training="x" * 201)),
        (common_pb2.Group(name="x" * MAX_LENGTH), common_pb2.Group(name="x" * (MAX_LENGTH + 1))),
        (
            guardian_pb2.OpenBatchRequest(unavailable=["a"] * 10_000),
            guardian_pb2.OpenBatchRequest(unavailable=["a"] * 10_001),
        ),
        (
            guardian_pb2.PrepareRequest(parties=["a"] * 10_000),
            guardian_pb2.PrepareRequest(parties=["a"] * 10_001),
        ),
        (
            admin_pb2.SetPartyRequest(reason="x" * MAX_LENGTH),
            admin_pb2.SetPartyRequest(reason="x" * (MAX_LENGTH + 1)),
        ),
    ],
    ids=lambda message: message.DESCRIPTOR.name,
)
def test_a_list_or_text_has_a_most(fits: Message, too_long: Message) -> None:
    check_limits(fits)
    with pytest.raises(OstrakaError) as refusal:
        check_limits(too_long)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_messages_within_messages_are_held_to_it() -> None:
    deep = common_pb2.Manifest(groups=[common_pb2.Group(), common_pb2.Group(name="x" * (MAX_LENGTH + 1))])
    with pytest.raises(OstrakaError, match=r"Group\.name has a length of 1001, and at most 1000"):
        check_limits(deep)
    header = common_pb2.Step(header=common_pb2.StepHeader(session_id="x" * (MAX_LENGTH + 1)))
    with pytest.raises(OstrakaError, match=r"StepHeader\.session_id"):
        check_limits(header)


def test_empty_receipts_are_counted_before_one_is_looked_at() -> None:
    """Each is two bytes of a message; the first of these would be refused for another reason."""
    first = common_pb2.Receipts(receipts=[common_pb2.Receipt(group="x" * (MAX_LENGTH + 1))])
    many = common_pb2.Receipts.FromString(first.SerializeToString() + b"\x12\x00" * 20_000)
    with pytest.raises(OstrakaError, match=r"Receipts\.receipts has a length of 20001"):
        check_limits(many)


@pytest.mark.parametrize(
    ("request_type", "kib"), [("CloseSessionRequest", 64), ("RegisterRequest", 512), ("Step", 1088)]
)
def test_a_request_has_most_bytes(request_type: str, kib: int) -> None:
    found = descriptor_pool.Default().FindMessageTypeByName(f"ostraka.v1.{request_type}")
    assert most_bytes(found) == kib << 10
