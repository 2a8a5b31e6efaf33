"""Lists and texts in messages are counted before anything loops over them."""

import pytest
from google.protobuf import descriptor_pool
from google.protobuf.message import DecodeError, Message

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import MAX_FIELDS, MAX_LENGTH, check_limits, check_lists, most_bytes
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2, party_pb2


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


VERIFY = "/ostraka.v1.Guardian/VerifyBallotsWhole"
_EMPTY = b"\x12\x00"
"""An entry of `parties`, which is the field 2."""
_UNKNOWN = b"\x79" + bytes(8) + b"\x7d" + bytes(4)
"""Two fields 15, of 8 bytes and of 4, that no version has."""


def test_lists_are_counted_before_a_request_is_parsed() -> None:
    """Two bytes of an entry would take 72; the last fields are no entries, and take time alone."""
    check_lists(VERIFY, _UNKNOWN + _EMPTY * 9_999 + b"\x08\x80\x01" + b"\x12\x05cut")
    for much in (_UNKNOWN + _EMPTY * 10_001, _UNKNOWN * (MAX_FIELDS // 2 + 1)):
        with pytest.raises(OstrakaError) as refusal:
            check_lists(VERIFY, much)
        assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
    with pytest.raises(DecodeError):
        check_lists(VERIFY, b"\xff" * 100)
    check_lists(VERIFY, b"\xff" * 9)
    check_lists("/nobody.Knows/This", much)


def test_a_message_that_comes_twice_has_the_lists_of_both() -> None:
    half = common_pb2.SignedEntry(path=[b""] * 17)
    once = party_pb2.BeginRequest(grant=half, ticket=half).SerializeToString()
    check_lists("/ostraka.v1.Party/Begin", once)
    with pytest.raises(OstrakaError, match="SignedEntry has more path, and at most 32"):
        check_lists("/ostraka.v1.Party/Begin", 2 * once)


@pytest.mark.parametrize(
    ("request_type", "kib"), [("CloseSessionRequest", 64), ("RegisterRequest", 512), ("Step", 1088)]
)
def test_a_request_has_most_bytes(request_type: str, kib: int) -> None:
    found = descriptor_pool.Default().FindMessageTypeByName(f"ostraka.v1.{request_type}")
    assert most_bytes(found) == kib << 10
