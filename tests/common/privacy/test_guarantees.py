"""What epsilons promise, by the adjacency that a server names."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.guarantees import NOTIONS, notion, plan_notion


def test_every_adjacency_has_its_words() -> None:
    assert {adjacency: notion(adjacency) for adjacency in NOTIONS} == NOTIONS


def test_persons_are_promised_where_all_records_say_whose_they_are() -> None:
    assert plan_notion("record", whole_persons=True) == "DP for persons"
    assert plan_notion("record", whole_persons=False) == NOTIONS["record"]
    assert plan_notion("label", whole_persons=True) == NOTIONS["label"]


@pytest.mark.parametrize("adjacency", ["", "person", "record\x00"])
def test_an_adjacency_that_there_is_not_is_refused(adjacency: str) -> None:
    with pytest.raises(OstrakaError, match="use the same version") as refused:
        notion(adjacency)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
