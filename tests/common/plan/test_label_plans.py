"""Plans that charge labels alone, and labels that are drawn anew for them."""

import math
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    Binary,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    Moments,
    NoiseCluster,
    Powerset,
    RandRes,
    Recipe,
    Tau,
    Ttac,
)
from ostraka.common.plan.limits import check_ring
from ostraka.common.plan.plan import Plan, check_protected

FIELDS: dict[str, Any] = {
    "nonce": bytes(16),
    "task_digest": bytes(32),
    "classes": 10,
    "mechanism": RandRes(epsilon=1.0),
    "parties": ("a", "b", "c"),
    "quorum": 2,
    "queries": 30,
    "batch_size": 30,
    "adjacency": "label",
}
RECIPE = Recipe(model="mlp", parameters=30, steps=3, batch_size=8, learning_rate=0.1)
VOTED: list[Mechanism] = [
    GnMax(sigma=4),
    Confident(sigma1=4, sigma2=2, threshold=3),
    Interactive(sigma1=4, sigma2=2, threshold=3, confidence=0.9),
    LnMax(gamma=0.1),
    Binary(sigma=4),
    Tau(sigma=4, tau=1.5),
    L1(sigma=4, tau1=1.5),
    Powerset(sigma=4, max_positives=2),
]
EPSILONS = st.floats(1e-6, 1e6)
CLASSES = st.integers(2, 10_000)


def asked(mechanism: Mechanism, adjacency: str) -> Plan:
    several = {"multi_label": mechanism.multi_label}
    return Plan(**FIELDS | {"mechanism": mechanism, "adjacency": adjacency} | several)


def refusal(**changes: Any) -> str:
    with pytest.raises(OstrakaError) as caught:
        Plan(**FIELDS | changes)
    assert caught.value.code is ErrorCode.PLAN_INVALID
    return caught.value.message


@given(epsilon=EPSILONS, classes=CLASSES)
def test_a_plan_comes_back_from_its_bytes(epsilon: float, classes: int) -> None:
    plan = Plan(**FIELDS | {"mechanism": RandRes(epsilon=epsilon), "classes": classes})
    assert Plan.parse(plan.serialize()) == plan


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"adjacency": "record"}, "set the plan's adjacency to label"),
        ({"batch_size": 29}, "make the batch as large as the queries"),
        ({"variant": "vanishing"}, "set variant none"),
        ({"mechanism": RandRes(epsilon=1e-19)}, "ask for a larger epsilon"),
        ({"multi_label": True}, "rand_res does not answer sets of labels"),
        ({"encoding": "ckks", "ring_bits": 32}, "which encryption hides"),
        ({"tally": "blind", "ring_bits": 32}, "needs the histogram itself"),
        ({"mechanism": Ttac(recipe=RECIPE), "batch_size": 1}, "set the plan's adjacency to record"),
        (
            {"mechanism": DpTtac(recipe=RECIPE, radius=1, sigma=3), "batch_size": 1},
            "set the plan's adjacency to record",
        ),
    ],
)
def test_what_labels_alone_do_not_pay_for_is_refused(changes: dict[str, Any], named: str) -> None:
    assert named in refusal(**changes)


@pytest.mark.parametrize("mechanism", [*VOTED, NoiseCluster(sigma=3)], ids=lambda m: m.kind)
@pytest.mark.parametrize("adjacency", ["record", "label"])
def test_votes_are_charged_either_way(mechanism: Mechanism, adjacency: str) -> None:
    assert asked(mechanism, adjacency).adjacency == adjacency


def test_a_ring_holds_the_votes_of_all_records() -> None:
    plan = Plan(**FIELDS | {"ring_bits": 32})
    check_ring(plan, 2**14 - 1)
    with pytest.raises(OstrakaError) as refused:
        check_ring(plan, 2**14)
    assert refused.value.code is ErrorCode.PLAN_RING_TOO_SMALL


@given(epsilon=EPSILONS, classes=CLASSES)
def test_the_truth_is_as_likely_as_equation_6_says_and_never_more(epsilon: float, classes: int) -> None:
    response = RandRes(epsilon=epsilon)
    with mpmath.workdps(80):
        exact = 1 / (1 + (classes - 1) * mpmath.exp(-mpmath.mpf(epsilon)))
        steps = response.truth_steps(classes)
        assert exact * 2**64 - 1 <= steps <= exact * 2**64
        assert response.truth(classes) == pytest.approx(float(exact), rel=1e-15)
    assert steps < 2**64


@given(epsilon=EPSILONS, classes=CLASSES)
def test_the_odds_of_what_is_drawn_stay_within_epsilon(epsilon: float, classes: int) -> None:
    response = RandRes(epsilon=epsilon)
    truth = Fraction(response.truth_steps(classes), 2**64)
    odds = truth * (classes - 1) / (1 - truth)
    assert odds > 1
    with mpmath.workdps(80):
        assert mpmath.mpf(odds.numerator) / odds.denominator <= mpmath.exp(mpmath.mpf(epsilon))


@pytest.mark.parametrize("epsilon", [0.0, -1.0, 1e300, math.inf, math.nan])
def test_no_label_is_drawn_by_an_epsilon_that_is_none(epsilon: float) -> None:
    with pytest.raises(OstrakaError, match="epsilon:") as refused:
        RandRes(epsilon=epsilon)
    assert refused.value.code is ErrorCode.PLAN_INVALID


@pytest.mark.parametrize("mechanism", VOTED, ids=lambda m: m.kind)
def test_teachers_vote_where_what_they_protect_is_charged(mechanism: Mechanism) -> None:
    for adjacency, fits in (("label", True), ("record", False)):
        plan = asked(mechanism, adjacency)
        check_protected(plan, "a", shared_features=fits)
        with pytest.raises(OstrakaError) as refused:
            check_protected(plan, "a", shared_features=not fits)
        assert refused.value.code is ErrorCode.PLAN_INVALID
        assert f"set it to {'record' if fits else 'label'}" in refused.value.message


@pytest.mark.parametrize("shared", [True, False])
def test_records_that_vote_need_no_teachers(shared: bool) -> None:
    check_protected(Plan(**FIELDS), "a", shared_features=shared)
    for adjacency in ("record", "label"):
        plan = Plan(**FIELDS | {"mechanism": NoiseCluster(sigma=3), "adjacency": adjacency})
        check_protected(plan, "a", shared_features=shared)


@pytest.mark.parametrize("adjacency", ["label", "record"])
def test_sums_tell_of_features_unless_all_sites_know_them(adjacency: str) -> None:
    one_round = {"mechanism": Moments(columns=3, codes=2, sigma=9.0), "queries": 1, "batch_size": 1}
    plan = Plan(**FIELDS | one_round | {"adjacency": adjacency, "ring_bits": 64})
    known = adjacency == "label"
    check_protected(plan, "a", shared_features=known)
    with pytest.raises(OstrakaError) as refused:
        check_protected(plan, "a", shared_features=not known)
    assert refused.value.code is ErrorCode.PLAN_INVALID
    assert "Sums tell of records of party a whose features" in refused.value.message
