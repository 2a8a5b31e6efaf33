"""What administrators send is checked before anything acts on it."""

import math
from collections.abc import Callable

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.wire.limits import MAX_LENGTH
from ostraka.guardian.admin.requests import (
    MAX_GROUP_CHARS,
    MAX_SESSION_CHARS,
    delta,
    epsilon,
    reason,
    session_id,
    unit_key,
)
from ostraka.guardian.ledger.units.budgets import amount_of
from ostraka.guardian.policy import MIN_DELTA, MIN_EPSILON

LONGEST: dict[str, tuple[Callable[[str], object], int]] = {
    "group": (lambda group: unit_key("a", group, "record"), MAX_GROUP_CHARS),
    "session": (session_id, MAX_SESSION_CHARS),
    "reason": (reason, MAX_LENGTH),
}


@pytest.mark.parametrize(("check", "most"), LONGEST.values(), ids=LONGEST)
def test_a_text_has_so_many_printable_characters(check: Callable[[str], object], most: int) -> None:
    check("x" * most)
    for text in ("x" * (most + 1), "", "x\0"):
        with pytest.raises(OstrakaError) as refused:
            check(text)
        assert refused.value.code is ErrorCode.MESSAGE_INVALID


SMALLEST = {"epsilon": (epsilon, MIN_EPSILON), "delta": (delta, MIN_DELTA)}


@pytest.mark.parametrize(("check", "least"), SMALLEST.values(), ids=SMALLEST)
def test_a_budget_is_of_numbers_that_can_be_computed_with(
    check: Callable[[float], float | None], least: float
) -> None:
    assert check(least) == least
    for value in (least / 2, 5e-324, -1.0, math.nan, math.inf):
        with pytest.raises(OstrakaError) as refused:
            check(value)
        assert refused.value.code is ErrorCode.MESSAGE_INVALID


@pytest.mark.parametrize("order", [1.5, 8.0, math.inf])
def test_the_smallest_budget_has_an_amount(order: float) -> None:
    assert amount_of(MIN_EPSILON, MIN_DELTA, order) == 0
    assert amount_of(1.0, MIN_DELTA, order) >= 0
