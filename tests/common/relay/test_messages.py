"""What is read from the other end of a control socket, whoever that is."""

from ostraka.common.errors import ErrorCode
from ostraka.common.relay.messages import MAX_REASON, Refused, refusal


def test_a_refusal_is_shown_without_codes_and_not_at_any_length() -> None:
    error = refusal(Refused(code="relay.quota", message="\x1b[2J" + "x" * 2 * MAX_REASON))
    assert error.code is ErrorCode.RELAY_QUOTA
    assert error.message.isprintable()
    assert len(error.message) < MAX_REASON + 10
    assert refusal(Refused(code="no such code", message="")).code is ErrorCode.INTERNAL
