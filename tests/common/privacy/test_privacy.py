import math
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import (
    AMOUNT_UNIT,
    ONE_VOTE,
    ORDERS,
    Influence,
    InputError,
    amount,
    budget_amount,
    budget_rdp,
    epsilon,
    propose_order,
)

orders = st.sampled_from(ORDERS)
epsilons = st.floats(0.05, 50)
deltas = st.floats(1e-12, 0.1)


def test_orders_are_half_integers_to_64_then_geometric_to_1024() -> None:
    assert ORDERS[:4] == (1.5, 2.0, 2.5, 3.0)
    assert 63.5 in ORDERS
    assert 64.0 in ORDERS
    assert ORDERS[-1] == pytest.approx(1024, rel=1e-12)
    assert list(ORDERS) == sorted(set(ORDERS))
    tail = [order for order in ORDERS if order >= 64]
    ratios = [after / before for before, after in pairwise(tail)]
    assert ratios == pytest.approx([ratios[0]] * len(ratios), rel=1e-12)


def test_epsilon_takes_one_order_or_many_and_is_the_least() -> None:
    many = epsilon([0.1, 0.2, 0.5], [2, 8, 32], 1e-5)
    assert many == min(epsilon(rdp, order, 1e-5) for rdp, order in [(0.1, 2), (0.2, 8), (0.5, 32)])


def test_epsilon_is_tighter_than_the_classic_conversion() -> None:
    assert epsilon(0.5, 16, 1e-5) < 0.5 + math.log(1e5) / 15


@pytest.mark.parametrize(
    ("rdp", "order", "delta", "message"),
    [
        ([0.1, -1.0], [2, 3], 1e-5, r"rdp\[1\]"),
        ([math.nan], [2], 1e-5, r"rdp\[0\]"),
        ([0.1], [1], 1e-5, r"orders\[0\]"),
        ([0.1], [2, 3], 1e-5, "1 values for 2 orders"),
        ([], [], 1e-5, "0 values"),
        ([0.1], [2], 0.0, "delta"),
        ([0.1], [2], 1.0, "delta"),
    ],
)
def test_epsilon_names_the_argument_that_is_wrong(
    rdp: list[float], order: list[float], delta: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        epsilon(rdp, order, delta)


@settings(deadline=None)
@given(epsilons, deltas, orders)
@example(0.05, 0.0161842610548463, 13.0)
def test_budget_rdp_is_the_largest_that_fits(target: float, delta: float, order: float) -> None:
    rdp = budget_rdp(target, delta, order)
    if rdp > 0:
        assert epsilon(rdp, order, delta) <= target
        more = epsilon(rdp + 1e-9 * max(1.0, target), order, delta)
        assert more > target or (more == 0 and rdp < -math.log1p(-(delta**2)))


def test_a_budget_hardly_above_the_conversions_constant_is_found_soon(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[float] = []

    def counted(rdp: float, orders: float, delta: float) -> float:
        asked.append(rdp)
        return epsilon(rdp, orders, delta)

    monkeypatch.setattr("ostraka.common.privacy.conversion.epsilon", counted)
    for above in (1e-9, 1e-8, 1e-7, 1e-5):
        constant = epsilon(64.0, 28.5, 1e-5) - 64.0
        rdp = budget_rdp(constant + above, 1e-5, 28.5)
        assert epsilon(rdp, 28.5, 1e-5) <= constant + above < epsilon(math.nextafter(rdp, 1), 28.5, 1e-5)
    assert len(asked) < 1000


def test_budget_rdp_is_zero_where_nothing_fits() -> None:
    assert budget_rdp(0.1, 1e-5, 1.5) == 0.0


@pytest.mark.parametrize("target", [0.0, -1.0, math.nan, math.inf])
def test_budget_rdp_refuses_an_epsilon_that_is_none(target: float) -> None:
    with pytest.raises(ValueError, match="epsilon"):
        budget_rdp(target, 1e-5, 8)


@pytest.mark.heavy
@settings(deadline=None, max_examples=15)
@given(st.floats(0.1, 20), st.floats(1e-9, 1e-3))
def test_no_order_buys_much_more_than_the_proposed_one(target: float, delta: float) -> None:
    """It is the best for Gaussian noise, whose cost is proportional to the order, and near it for votes."""
    spendable = {order: budget_rdp(target, delta, order) for order in ORDERS}
    votes = {order: GnMax(sigma=5).worst_case(order, classes=10).answer for order in ORDERS}
    proposed = propose_order(target, delta)
    assert spendable[proposed] / proposed == max(spendable[order] / order for order in ORDERS)
    assert spendable[proposed] / votes[proposed] > 0.9 * max(
        spendable[order] / votes[order] for order in ORDERS
    )


def test_a_budget_that_pays_for_nothing_is_refused_with_a_code() -> None:
    with pytest.raises(OstrakaError, match="larger epsilon") as refusal:
        propose_order(1e-6, 1e-12)
    assert refusal.value.code == ErrorCode.BUDGET_TOO_SMALL


@given(st.floats(0, 1e6))
def test_costs_round_up_and_budgets_down(rdp: float) -> None:
    assert budget_amount(rdp) <= amount(rdp) <= budget_amount(rdp) + 1
    assert amount(rdp) * AMOUNT_UNIT >= rdp * (1 - 1e-15)
    assert budget_amount(rdp) * AMOUNT_UNIT <= rdp * (1 + 1e-15)


def test_the_smallest_cost_is_one_unit_and_nothing_is_free_but_nothing() -> None:
    assert amount(5e-324) == 1
    assert amount(0.0) == 0


@pytest.mark.parametrize("rdp", [math.nan, math.inf, -1e-9])
def test_what_is_no_cost_is_no_amount(rdp: float) -> None:
    with pytest.raises(ValueError, match="rdp"):
        amount(rdp)


def test_what_a_unit_can_change_is_its_votes_times_their_weight() -> None:
    assert ONE_VOTE.sensitivity == 1
    assert Influence(3, 0.5).sensitivity == 1.5


@pytest.mark.parametrize(
    ("votes", "weight", "named"),
    [(0, 1.0, "votes"), (-1, 1.0, "votes"), (1.5, 1.0, "votes"), (1, 0.0, "weight"), (1, -1.0, "weight")]
    + [(1, weight, "weight") for weight in (math.inf, math.nan)],
)
def test_an_influence_changes_something(votes: int, weight: float, named: str) -> None:
    with pytest.raises(InputError) as refusal:
        Influence(votes, weight)
    assert refusal.value.argument == named
