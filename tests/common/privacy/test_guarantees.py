"""What epsilons promise, by the adjacency that a server names."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import GAUSSIAN
from ostraka.common.privacy.guarantees import (
    NOTIONS,
    filter_name,
    filter_option,
    filter_text,
    notion,
    received_order,
    sent_order,
)


def test_every_adjacency_has_its_words() -> None:
    assert {adjacency: notion(adjacency) for adjacency in NOTIONS} == NOTIONS


@pytest.mark.parametrize("adjacency", ["", "person", "record\x00"])
def test_an_adjacency_that_there_is_not_is_refused(adjacency: str) -> None:
    with pytest.raises(OstrakaError, match="use the same version") as refused:
        notion(adjacency)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID


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
