"""Names of filters in words and in messages."""

import pytest

from ostraka.common.privacy.filters import (
    GAUSSIAN,
    filter_name,
    filter_option,
    filter_text,
    received_order,
    sent_order,
)


@pytest.mark.parametrize(
    ("order", "sent", "name", "text", "option"),
    [
        (8.5, 8.5, "renyi", "renyi 8.5", "--order 8.5"),
        (GAUSSIAN, 0.0, "gaussian", "gaussian", "--filter gaussian"),
    ],
)
def test_a_filter_in_words_and_in_messages(
    order: float, sent: float, name: str, text: str, option: str
) -> None:
    assert (sent_order(order), received_order(sent)) == (sent, order)
    for known in (order, sent):
        assert (filter_name(known), filter_text(known), filter_option(known)) == (name, text, option)
