"""What is left of a federation's budgets, as its guardian tells it."""

from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice.advise import MIN_EPSILON
from ostraka.deploy.advice.federation import require_left
from ostraka.deploy.advice.query_advice import advise_query
from ostraka.protos.ostraka.v1 import guardian_pb2


def cost(site: str, left: float | None) -> guardian_pb2.PartyCost:
    return guardian_pb2.PartyCost(site=site, order=20, delta=1e-5, budget_epsilon=4, rdp_left=left)


def test_a_party_with_nothing_left_is_named() -> None:
    with pytest.raises(OstrakaError) as caught:
        require_left((cost("north", 0.0), cost("south", 0.1), cost("east", 0.0)))
    assert caught.value.code is ErrorCode.BUDGET_TOO_SMALL
    assert "Nothing is left of the budget of north, east" in caught.value.message
    assert "--parties" in caught.value.message


def test_what_is_left_or_not_told_is_no_reason_to_stop() -> None:
    require_left((cost("north", 0.1), cost("south", None)))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, MIN_EPSILON / 2, float("nan")])
def test_an_epsilon_that_buys_nothing_is_refused_before_anything_is_read(epsilon: float) -> None:
    with pytest.raises(OstrakaError) as caught:
        advise_query(Path("nobody"), Path("own.csv"), epsilon=epsilon)
    assert caught.value.code is ErrorCode.BUDGET_TOO_SMALL
