"""What is left of a unit's budget, as an epsilon that training can use."""

import pytest

from ostraka.common.privacy import budget_rdp
from ostraka.common.privacy.gaussian import GAUSSIAN
from ostraka.services.serving.status import UnitStatus

DELTA, ORDER = 1e-5, 8.0


def unit(budget: float, spent: float = 0.0, reserved: float = 0.0, order: float = ORDER) -> UnitStatus:
    return UnitStatus("all", "record", "DP for records", budget, DELTA, order, spent, reserved, "active")


@pytest.mark.parametrize("order", [ORDER, GAUSSIAN])
def test_a_budget_that_is_left_pays_for_what_was_not_spent(order: float) -> None:
    left = unit(20.0, 8.0, 4.0, order).epsilon_left
    rdp = [budget_rdp(each, DELTA, order) for each in (20.0, 12.0, left)]
    assert rdp[2] == pytest.approx(rdp[0] - rdp[1])


def test_all_is_left_before_the_first_query_and_nothing_after_the_last() -> None:
    assert unit(20.0).epsilon_left == pytest.approx(20.0)
    assert unit(20.0, 20.0).epsilon_left == 0
    assert unit(20.0, 19.0, 3.0).epsilon_left == 0
