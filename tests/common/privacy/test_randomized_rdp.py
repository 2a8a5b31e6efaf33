"""What labels that are drawn anew cost, against many-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.mechanism import RandRes
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, pure_rdp
from ostraka.common.privacy.worst_case import randomized_rdp

EPSILONS = st.floats(1e-6, 300.0)
CLASSES = st.integers(2, 10_000)
RENYI = st.sampled_from(ORDERS)


def divergence(p: list[mpmath.mpf], r: list[mpmath.mpf], order: float) -> mpmath.mpf:
    return mpmath.log(mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, r, strict=True))) / (
        order - 1
    )


def chances(epsilon: float, classes: int) -> tuple[mpmath.mpf, mpmath.mpf]:
    """Of the true label and of each other, by Equation 6."""
    odds = mpmath.exp(mpmath.mpf(epsilon))
    return odds / (odds + classes - 1), 1 / (odds + classes - 1)


@pytest.mark.parametrize("order", [1.5, 2, 7.5, 64, 1024])
@pytest.mark.parametrize("classes", [2, 3, 10, 1000])
@pytest.mark.parametrize("epsilon", [1e-6, 0.01, math.log(2), 2, 20, 600])
def test_the_cost_is_the_divergence_itself(epsilon: float, classes: int, order: float) -> None:
    """Of the draws of two true labels: one class has their chances swapped, the others are alike."""
    with mpmath.workdps(400):
        p, q = chances(epsilon, classes)
        true = divergence([p, q] + [q] * (classes - 2), [q, p] + [q] * (classes - 2), order)
    assert randomized_rdp(epsilon, classes, order) == pytest.approx(float(true), rel=1e-10)


@given(epsilon=EPSILONS, classes=CLASSES, order=RENYI)
def test_the_cost_lies_between_one_class_against_all_others_and_pure_dp(
    epsilon: float, classes: int, order: float
) -> None:
    cost = randomized_rdp(epsilon, classes, order)
    assert cost <= pure_rdp(epsilon, order) * (1 + 1e-9)
    assert cost <= epsilon * (1 + 1e-9)
    with mpmath.workdps(300):
        p, q = chances(epsilon, classes)
        told = max(divergence([p, 1 - p], [q, 1 - q], order), divergence([q, 1 - q], [p, 1 - p], order))
        assert cost >= float(told) * (1 - 1e-9)


@given(epsilon=EPSILONS, order=RENYI)
def test_two_classes_attain_pure_dp(epsilon: float, order: float) -> None:
    assert randomized_rdp(epsilon, 2, order) == pytest.approx(pure_rdp(epsilon, order), rel=1e-9)


@given(epsilon=EPSILONS, classes=CLASSES, order=RENYI)
def test_what_is_drawn_costs_no_more_than_what_is_charged(epsilon: float, classes: int, order: float) -> None:
    """The truth is drawn with a chance rounded down to a multiple of 2^-64."""
    with mpmath.workdps(250):
        p = mpmath.mpf(RandRes(epsilon=epsilon).truth_steps(classes)) / 2**64
        q = (1 - p) / (classes - 1)
        drawn = p**order * q ** (1 - order) + q**order * p ** (1 - order) + (classes - 2) * q
        assert float(mpmath.log(drawn) / (order - 1)) <= randomized_rdp(epsilon, classes, order) * (1 + 1e-9)


@given(epsilon=EPSILONS, more=st.floats(1.01, 3.0), classes=CLASSES, order=RENYI)
def test_a_larger_epsilon_costs_more_and_more_classes_less(
    epsilon: float, more: float, classes: int, order: float
) -> None:
    cost = randomized_rdp(epsilon, classes, order)
    assert randomized_rdp(more * epsilon, classes, order) > cost
    assert randomized_rdp(epsilon, classes + 1, order) <= cost * (1 + 1e-12)


@given(epsilon=st.floats(1e-3, 20.0), order=RENYI, records=st.integers(1, 30), queries=st.integers(1, 1000))
def test_a_batch_costs_once_for_each_record_of_a_person_however_many_it_asks(
    epsilon: float, order: float, records: int, queries: int
) -> None:
    cost = RandRes(epsilon=epsilon).worst_case(order, records, classes=5)
    expected = records * randomized_rdp(epsilon, 5, order)
    some = np.arange(queries)[:, None] % 2 == 0
    assert cost.rdp(some) == pytest.approx(expected)
    assert cost.reservation(queries, 1) == cost.amount(some) == cost.reservation(1, 1)
    assert cost.reservation(queries, 1) * AMOUNT_UNIT == pytest.approx(expected, rel=1e-6)
    assert cost.reservation(0, 1) == cost.amount(some[:0]) == 0
