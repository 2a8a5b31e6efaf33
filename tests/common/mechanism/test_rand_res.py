"""Randomised response for one label."""

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RandRes
from ostraka.common.mechanism.rand_res import MAX_EPSILON


@pytest.mark.parametrize("epsilon", [0.0, -1.0, MAX_EPSILON + 1, float("inf"), float("nan")])
def test_no_label_is_drawn_by_an_epsilon_that_is_none(epsilon: float) -> None:
    with pytest.raises(OstrakaError, match="epsilon:") as refused:
        RandRes(epsilon=epsilon)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_an_epsilon_as_large_as_may_be_is_taken() -> None:
    assert RandRes(epsilon=MAX_EPSILON).epsilon == MAX_EPSILON
