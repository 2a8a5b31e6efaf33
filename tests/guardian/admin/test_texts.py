"""Epsilons as reports print them."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.guardian.admin.texts import amount_left_text, spending_text
from ostraka.protos.ostraka.v1 import admin_pb2

EPSILONS = st.floats(0.0, allow_infinity=False)
PLACE = Fraction(1, 10_000)


@given(EPSILONS)
def test_no_more_was_spent_than_is_told(epsilon: float) -> None:
    assert 0 <= Fraction(spending_text(epsilon)) - Fraction(epsilon) < PLACE


@given(EPSILONS, EPSILONS)
def test_no_more_is_left_than_is_told(whole: float, spent: float) -> None:
    budget = admin_pb2.Budget(epsilon=whole, epsilon_worst_case=spent, enforce="worst_case")
    left = Fraction(max(0.0, whole - spent))
    assert 0 <= left - Fraction(amount_left_text(budget)) < PLACE


@pytest.mark.parametrize(
    ("epsilon", "told"),
    [(0.0, "0.0000"), (3e-7, "0.0001"), (1.00004, "1.0001"), (2.5, "2.5000"), (math.inf, "inf")],
)
def test_a_small_charge_is_not_told_as_none(epsilon: float, told: str) -> None:
    assert spending_text(epsilon) == told
