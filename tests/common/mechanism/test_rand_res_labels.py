"""Randomised response for several labels: what is drawn of them, and what that costs, in many digits."""

from decimal import localcontext
from itertools import combinations, product
from typing import Any

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import RandRes, RandResLabels
from ostraka.common.mechanism.rand_res_labels import _most_telling
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.worst_case import randomized_rdp

EPSILONS = st.floats(1e-6, 500.0)
LABELS = st.integers(1, 3000)
RENYI = st.sampled_from(ORDERS)
VECTORS = st.integers(1, 4).flatmap(lambda k: st.tuples(*[st.tuples(*[st.integers(0, 1)] * k)] * 2))
FIELDS: dict[str, Any] = {
    "nonce": bytes(16),
    "task_digest": bytes(32),
    "classes": 10,
    "multi_label": True,
    "mechanism": RandResLabels(epsilon=1.0),
    "parties": ("a", "b", "c"),
    "quorum": 2,
    "queries": 30,
    "batch_size": 30,
    "adjacency": "label",
}


def told(epsilon: float, drawn: int) -> mpmath.mpf:
    odds = mpmath.exp(mpmath.mpf(epsilon))
    return (odds - 1) / (odds + 2**drawn - 1)


def answers(y: tuple[int, ...], drawn: int, kept: mpmath.mpf) -> list[mpmath.mpf]:
    """Return the chance of every answer to labels `y`: which labels, and what of each."""
    subsets = list(combinations(range(len(y)), drawn))
    one = [
        (1 - kept) / 2**drawn + (kept if bits == tuple(y[label] for label in subset) else 0)
        for subset in subsets
        for bits in product((0, 1), repeat=drawn)
    ]
    return [chance / len(subsets) for chance in one]


def divergence(p: list[mpmath.mpf], r: list[mpmath.mpf], order: float) -> mpmath.mpf:
    return mpmath.log(mpmath.fsum(a**order * b ** (1 - order) for a, b in zip(p, r, strict=True))) / (
        order - 1
    )


@pytest.mark.parametrize("order", [1.5, 7.5, 64, 1024])
@pytest.mark.parametrize("labels", [1, 3, 5])
@pytest.mark.parametrize("epsilon", [1e-6, 0.3, 2, 5, 40])
def test_the_cost_is_the_divergence_where_all_labels_change(
    epsilon: float, labels: int, order: float
) -> None:
    mechanism = RandResLabels(epsilon=epsilon)
    drawn = mechanism.drawn(labels)
    with mpmath.workdps(200):
        kept = told(epsilon, drawn)
        p, r = answers((0,) * labels, drawn, kept), answers((1,) * labels, drawn, kept)
        assert mpmath.fsum(p) == pytest.approx(1)
        true = float(divergence(p, r, order))
    assert mechanism.worst_case(order, classes=labels).batch == pytest.approx(true, rel=1e-9)


@settings(deadline=None)
@given(vectors=VECTORS, epsilon=st.floats(1e-3, 60.0), order=RENYI)
def test_no_two_label_vectors_cost_more_than_is_charged(
    vectors: tuple[tuple[int, ...], tuple[int, ...]], epsilon: float, order: float
) -> None:
    """With the probability that is drawn, a multiple of 2^-64."""
    y, other = vectors
    mechanism = RandResLabels(epsilon=epsilon)
    drawn = mechanism.drawn(len(y))
    with mpmath.workdps(120):
        kept = mpmath.mpf(mechanism.told_steps(len(y))) / 2**64
        p, r = answers(y, drawn, kept), answers(other, drawn, kept)
        ratio = max(a / b for a, b in zip(p, r, strict=True))
        assert ratio <= mpmath.exp(mpmath.mpf(epsilon))
        cost = mechanism.worst_case(order, classes=len(y)).batch
        assert divergence(p, r, order) <= cost * (1 + 1e-9)


@given(epsilon=EPSILONS, labels=LABELS)
def test_as_many_labels_are_drawn_as_tell_most(epsilon: float, labels: int) -> None:
    drawn = RandResLabels(epsilon=epsilon).drawn(labels)
    assert 1 <= drawn <= labels
    with mpmath.workdps(80):
        near = {
            s: s * told(epsilon, s) ** 2 for s in {1, drawn - 1, drawn, drawn + 1, labels} if 0 < s <= labels
        }
        assert near[drawn] >= max(near.values()) * (1 - mpmath.mpf(10) ** -60)


@given(epsilon=EPSILONS, labels=LABELS)
def test_labels_are_told_no_more_often_than_equation_6_lets_their_set_be(epsilon: float, labels: int) -> None:
    mechanism = RandResLabels(epsilon=epsilon)
    with mpmath.workdps(400):
        exact = told(epsilon, mechanism.drawn(labels))
        assert exact * 2**64 - 1 <= mechanism.told_steps(labels) <= exact * 2**64
        assert mechanism.truth(labels) == pytest.approx(float(exact), rel=1e-15)
        assert mechanism.known_error(9, labels) == pytest.approx(float((1 - exact) / 2), abs=1e-15)
    assert mechanism.told_steps(labels) < 2**64


def test_all_sites_draw_alike_whatever_decimals_their_threads_are_set_to() -> None:
    mechanism = RandResLabels(epsilon=150.25)
    _most_telling.cache_clear()
    with localcontext(prec=3):
        here = mechanism.drawn(400), mechanism.told_steps(400)
    _most_telling.cache_clear()
    assert here == (mechanism.drawn(400), mechanism.told_steps(400))


@given(epsilon=st.floats(1e-3, 500.0), order=RENYI, records=st.integers(1, 30))
def test_one_label_is_a_task_of_two_classes_and_records_of_a_person_add_up(
    epsilon: float, order: float, records: int
) -> None:
    mechanism = RandResLabels(epsilon=epsilon)
    once = RandRes(epsilon=epsilon).worst_case(order, classes=2).batch
    assert mechanism.worst_case(order, classes=1).batch == once
    assert mechanism.known_error(1, 1) == pytest.approx(RandRes(epsilon=epsilon).known_error(1, 2), abs=1e-15)
    assert mechanism.worst_case(order, records, classes=1).batch == pytest.approx(records * once)


@given(epsilon=EPSILONS, fewer=LABELS, more=st.integers(0, 50), order=RENYI)
def test_a_party_that_is_charged_for_fewer_labels_than_it_draws_pays_no_less(
    epsilon: float, fewer: int, more: int, order: float
) -> None:
    mechanism = RandResLabels(epsilon=epsilon)
    all_labels = mechanism.worst_case(order, classes=fewer + more).batch
    assert all_labels <= mechanism.worst_case(order, classes=fewer).batch * (1 + 1e-12)
    assert all_labels <= epsilon * (1 + 1e-9)


def test_labels_told_together_say_more_than_each_by_its_share_of_epsilon() -> None:
    mechanism = RandResLabels(epsilon=4.0)
    assert mechanism.drawn(14) == 4
    told_apart = 14 * (1 - 2 * RandRes(epsilon=4.0 / 14).known_error(1, 2)) ** 2
    assert 4 * mechanism.truth(14) ** 2 > 8 * told_apart
    assert mechanism.worst_case(64.0, classes=14).batch == randomized_rdp(4.0, 16, 64.0) < 4


@given(epsilon=st.floats(1e-6, 500.0), labels=st.integers(2, 60_000))
def test_a_plan_comes_back_from_its_bytes(epsilon: float, labels: int) -> None:
    plan = Plan(**FIELDS | {"mechanism": RandResLabels(epsilon=epsilon), "classes": labels})
    assert Plan.parse(plan.serialize()) == plan


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"multi_label": False}, "rand_res_labels does not answer single labels"),
        ({"adjacency": "record"}, "set the plan's adjacency to label"),
        ({"batch_size": 29}, "make the batch as large as the queries"),
        ({"variant": "vanishing"}, "set variant none"),
        ({"mechanism": RandResLabels(epsilon=1e-20)}, "ask for a larger epsilon"),
        ({"encoding": "ckks", "ring_bits": 32}, "which encryption hides"),
        ({"tally": "blind", "ring_bits": 32}, "needs the histogram itself"),
    ],
)
def test_what_labels_alone_do_not_pay_for_is_refused(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(OstrakaError, match=named) as caught:
        Plan(**FIELDS | changes)
    assert caught.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 501.0, float("nan")])
def test_no_label_is_drawn_by_an_epsilon_that_is_none(epsilon: float) -> None:
    with pytest.raises(OstrakaError, match="epsilon:") as refused:
        RandResLabels(epsilon=epsilon)
    assert refused.value.code is ErrorCode.PLAN_INVALID
