"""What epsilons promise, by the adjacency that a server names."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.guarantees import NOTIONS, notion


def test_every_adjacency_has_its_words() -> None:
    assert {adjacency: notion(adjacency) for adjacency in NOTIONS} == NOTIONS


@pytest.mark.parametrize("adjacency", ["", "person", "record\x00"])
def test_an_adjacency_that_there_is_not_is_refused(adjacency: str) -> None:
    with pytest.raises(OstrakaError, match="use the same version") as refused:
        notion(adjacency)
    assert refused.value.code is ErrorCode.MESSAGE_INVALID
