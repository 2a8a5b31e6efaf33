"""What is read from the other end of a control socket, whoever that is."""

import asyncio
from typing import cast

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.relay.messages import MAX_REASON, Challenge, Refused, receive_only, refusal
from ostraka.common.relay.web_socket import WebSocket


def test_a_refusal_is_shown_without_codes_and_not_at_any_length() -> None:
    error = refusal(Refused(code="relay.quota", message="\x1b[2J" + "x" * 2 * MAX_REASON))
    assert error.code is ErrorCode.RELAY_QUOTA
    assert error.message.isprintable()
    assert len(error.message) < MAX_REASON + 10
    assert refusal(Refused(code="no such code", message="")).code is ErrorCode.INTERNAL


class Told:
    """A control socket on which the other end sends this text."""

    def __init__(self, text: str) -> None:
        self._text = text

    async def receive_text(self) -> str:
        return self._text


def challenge(now: str) -> Challenge:
    text = f'{{"kind": "challenge", "nonce": "{"0" * 32}", "proof": "AAAA", "now": {now}}}'
    return asyncio.run(receive_only(cast(WebSocket, Told(text)), Challenge))


@pytest.mark.parametrize("now", ["NaN", "Infinity", "1e999", "-1", "253370764800", "null", '"x"'])
def test_a_clock_that_shows_no_time_is_refused(now: str) -> None:
    assert challenge("1.5").now == 1.5
    with pytest.raises(OstrakaError) as refused:
        challenge(now)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
