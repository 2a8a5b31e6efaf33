"""Accounting for one's own votes, against the planner, the ledger's arithmetic and dp_accounting."""

import math

import numpy as np
import pytest
from dp_accounting import (
    GaussianDpEvent,
    NonPrivateDpEvent,
    PoissonSampledDpEvent,
    SelfComposedDpEvent,
    UnsupportedDpEvent,
)
from dp_accounting.pld import PLDAccountant
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Confident, GnMax, LnMax, Mechanism, NoiseCluster
from ostraka.common.planning.candidate import Candidate, propose_order
from ostraka.common.privacy import FEW_ORDERS, ORDERS, Influence, budget_rdp, epsilon, epsilon_by_answers
from ostraka.common.privacy.argmax import argmax_rdp
from ostraka.guardian.accountant import Accountant
from ostraka.guardian.mechanisms.votes import release_votes
from ostraka.guardian.noise import ExactNoise
from ostraka.guardian.planning.plan import Limit

GNMAX = GnMax(sigma=40.0)
CONFIDENT = Confident(sigma1=150.0, sigma2=40.0, threshold=200.0)
TEACHERS = 250


def votes(queries: int = 40) -> np.ndarray:
    return np.random.default_rng(5).multinomial(TEACHERS, [0.82] + [0.02] * 9, size=queries).astype(float)


def test_gaussian_answers_cost_what_their_formula_says() -> None:
    spent = Accountant(10, orders=ORDERS).step(GNMAX, 100)
    costs = [100 * argmax_rdp(order, 1.0, 40.0, 10) for order in ORDERS]
    assert spent == pytest.approx(epsilon(costs, ORDERS, 1e-5), rel=1e-12)


def test_steps_add_up_whatever_their_order() -> None:
    one, other = Accountant(10), Accountant(10)
    one.step(GNMAX, 3)
    one.step(CONFIDENT, 7)
    other.step(CONFIDENT, 7)
    other.step(GNMAX, 1)
    other.step(GNMAX, 2)
    np.testing.assert_allclose(one.rdp, other.rdp, rtol=1e-12)


def test_a_check_that_refuses_is_paid_for_alone() -> None:
    refused, answered = Accountant(10), Accountant(10)
    refused.step(CONFIDENT, answered=np.zeros((50, 1), np.bool_))
    answered.step(CONFIDENT, 50)
    checks = [CONFIDENT.worst_case(order, classes=10).check for order in FEW_ORDERS]
    np.testing.assert_allclose(refused.rdp, np.multiply(50, checks), rtol=1e-12)
    assert (refused.rdp < answered.rdp).all()


def test_the_best_order_is_free_only_while_costs_are_fixed_before_the_answers() -> None:
    every, gnmax = np.ones((50, 1), np.bool_), Accountant(10)
    fixed = gnmax.step(GNMAX, 50)
    assert Accountant(10).step(GNMAX, answered=every) == fixed
    assert not gnmax.follows_answers
    accountant = Accountant(10)
    accountant.step(CONFIDENT, answered=every)
    assert accountant.follows_answers
    share = accountant.delta / len(FEW_ORDERS)
    assert accountant.epsilon() == pytest.approx(epsilon(accountant.rdp.tolist(), FEW_ORDERS, share))
    assert accountant.epsilon() > Accountant(10).step(CONFIDENT, 50)


def test_one_order_fixed_before_keeps_all_of_delta() -> None:
    accountant = Accountant(10, orders=[8.0])
    accountant.step(CONFIDENT, answered=np.zeros((50, 1), np.bool_))
    (spent,) = accountant.rdp.tolist()
    assert accountant.follows_answers
    assert accountant.epsilon() == pytest.approx(epsilon(spent, 8.0, 1e-5), rel=1e-12)


def test_a_budget_pays_for_less_once_charges_follow_answers() -> None:
    accountant, fixed = (Accountant(10, budget=3.0) for _ in range(2))
    accountant.step(CONFIDENT, answered=np.ones((1, 1), np.bool_))
    fixed.step(CONFIDENT, 1)
    most, more = accountant.fits(CONFIDENT), fixed.fits(CONFIDENT)
    assert most is not None
    assert more is not None
    assert most < more
    assert accountant.step(CONFIDENT, most) <= 3.0
    assert accountant.step(CONFIDENT, 1) > 3.0


def test_charges_by_label_follow_answers() -> None:
    counts, labels = votes(3), np.zeros((3, 1), np.int64)
    every = np.ones((3, 1), np.bool_)
    batch, by_label = (Accountant(10, orders=[4.0, 8.0]) for _ in range(2))
    batch.step_votes(GNMAX, counts, every, teachers=TEACHERS)
    by_label.step_votes(GNMAX, counts, every, teachers=TEACHERS, labels=labels)
    assert (batch.follows_answers, by_label.follows_answers) == (False, True)


@pytest.mark.parametrize("order", [1.5, 4.0, 20.0])
def test_what_a_figure_of_the_answers_promises_holds_on_a_mechanism_that_attains_it(order: float) -> None:
    """P(S) - sum over S of e^epsilon R at most delta, over the worst S, for charges that follow the outcome.

    One outcome is charged so that (1) of docs/accounting.md is an equality, the other nothing.
    """
    P, R = np.array([0.3, 0.7]), np.array([0.05, 0.95])
    for delta in np.geomspace(1e-4, 0.2, 40):
        bound = 1 - P[1] ** order * R[1] ** (1 - order)
        charged = np.array([math.log(P[0] ** order * R[0] ** (1 - order) / bound) / (order - 1), 0.0])
        told = np.exp([epsilon_by_answers([cost], [order], float(delta)) for cost in charged])
        assert np.maximum(P - told * R, 0).sum() <= delta * (1 + 1e-9)


def test_the_best_order_picked_afterwards_has_to_be_paid_for() -> None:
    """Charges satisfy (1) of docs/accounting.md at each order, and each outcome makes another order the best.

    Each takes what delta leaves at its order, so that three orders at all of delta exceed it nearly 3 times.
    """
    orders, delta, room, loss = np.array([4.0, 8.0, 16.0]), 1e-3, 0.9, 5.0
    few = room * orders * delta
    P = np.append(few, 1 - few.sum())
    R = np.append(few * math.exp(-loss), 1 - few.sum() * math.exp(-loss))
    rest = -math.log(1 - room - 0.05) / (orders - 1)
    charged = np.column_stack([np.full((3, 3), loss + 10), rest])
    np.fill_diagonal(charged, loss - np.log(room / few) / (orders - 1))
    assert (charged > 0).all()
    for order, charges in zip(orders, charged, strict=True):
        for one, other in ((P, R), (R, P)):
            assert (one**order * other ** (1 - order) * np.exp(-(order - 1) * charges)).sum() <= 1

    def excess(told: list[float]) -> float:
        return float(np.maximum(P - np.exp(told) * R, 0).sum())

    free = [min(map(epsilon_by_answers, zip(column), zip(orders), [delta] * 3)) for column in charged.T]
    paid = [epsilon_by_answers(column.tolist(), orders.tolist(), delta) for column in charged.T]
    assert excess(free) > 2.6 * delta
    assert excess(paid) <= delta


@pytest.mark.parametrize("mechanism", [GNMAX, CONFIDENT, LnMax(gamma=0.02), Binary(sigma=30.0)])
def test_as_many_queries_fit_as_the_planner_says(mechanism: Mechanism) -> None:
    accountant = Accountant(10, budget=3.0, orders=ORDERS)
    candidate = Candidate(mechanism, 10)
    planned = Limit(3.0, 1e-5, propose_order(candidate, 3.0, 1e-5)).fits(candidate)
    assert accountant.fits(mechanism) == planned
    assert planned is not None
    assert accountant.step(mechanism, planned) <= 3.0
    assert accountant.fits(mechanism) == 0
    assert 0 <= accountant.left < 0.1


def test_a_batch_of_clusters_costs_the_same_whatever_its_size() -> None:
    accountant = Accountant(10, budget=3.0)
    assert accountant.fits(NoiseCluster(sigma=5.0)) is None
    assert accountant.step(NoiseCluster(sigma=5.0), 1) == Accountant(10).step(NoiseCluster(sigma=5.0), 30)


def test_without_a_budget_nothing_is_said_to_fit() -> None:
    with pytest.raises(OstrakaError, match="has no budget") as refused:
        Accountant(10).fits(GNMAX)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert Accountant(10).left == math.inf


def test_votes_never_cost_more_than_the_worst_case() -> None:
    counts = votes()
    answers = release_votes(CONFIDENT, counts, ExactNoise(), classes=10, teachers=TEACHERS)
    orders = (2.0, 8.0, 32.0)
    worst, exact = (Accountant(10, orders=orders) for _ in range(2))
    worst.step(CONFIDENT, answered=answers.answered)
    exact.step_votes(CONFIDENT, counts, answers.answered, teachers=TEACHERS)
    reserved = Accountant(10, orders=orders)
    reserved.step(CONFIDENT, len(counts))
    assert (exact.rdp <= reserved.rdp).all()
    assert exact.epsilon() < worst.epsilon()
    told = Accountant(10, orders=orders)
    told.step_votes(CONFIDENT, counts, answers.answered, teachers=TEACHERS, bound="worst_case")
    np.testing.assert_allclose(told.rdp, worst.rdp, rtol=1e-12)


@settings(max_examples=20)
@given(
    sigma=st.floats(2.0, 200.0),
    sigma1=st.floats(2.0, 200.0),
    votes=st.integers(1, 4),
    weight=st.floats(0.1, 3.0),
    queries=st.integers(1, 500),
)
def test_events_of_dp_accounting_cost_no_less(
    sigma: float, sigma1: float, votes: int, weight: float, queries: int
) -> None:
    for mechanism in (GnMax(sigma=sigma), Confident(sigma1=sigma1, sigma2=sigma, threshold=9.0)):
        own, theirs = (Accountant(10, influence=Influence(votes, weight)) for _ in range(2))
        own.step(mechanism, queries)
        theirs.compose(own.event(mechanism), queries)
        assert (own.rdp <= theirs.rdp * (1 + 1e-9)).all()


def test_an_answer_costs_less_than_all_counts_do() -> None:
    """By loss distributions (PLD), which lie below the Renyi curve of all counts, and near it."""
    own = Accountant(10, orders=ORDERS)
    spent = own.step(GNMAX, 200)
    exact = PLDAccountant()
    exact.compose(own.event(GNMAX), 200)
    assert 0.7 * exact.get_epsilon(1e-5) <= spent <= exact.get_epsilon(1e-5)
    composed = Accountant(10, orders=ORDERS).compose(own.event(GNMAX), 200)
    assert exact.get_epsilon(1e-5) <= composed <= 1.15 * exact.get_epsilon(1e-5)


def test_a_training_by_dp_sgd_adds_to_what_votes_cost() -> None:
    training = PoissonSampledDpEvent(0.01, GaussianDpEvent(1.1))
    orders = (2.0, 4.0, 8.0, 16.0, 32.0)
    own, theirs = Accountant(10, orders=orders), RdpAccountant(list(orders))
    own.compose(own.event(GNMAX), 50)
    own.compose(training, 500)
    theirs.compose(SelfComposedDpEvent(training, 500))
    theirs.compose(GaussianDpEvent(40.0 / math.sqrt(2)), 50)
    assert own.epsilon() == pytest.approx(theirs.get_epsilon(1e-5), rel=1e-9)


def test_what_has_no_renyi_divergence_is_refused() -> None:
    accountant = Accountant(10)
    with pytest.raises(OstrakaError, match="No Gaussian noise describes lnmax"):
        accountant.event(LnMax(gamma=0.1))
    with pytest.raises(OstrakaError, match="No Gaussian noise describes binary"):
        accountant.event(Binary(sigma=3.0))
    with pytest.raises(OstrakaError, match="has no Renyi divergence"):
        accountant.compose(UnsupportedDpEvent())
    assert not accountant.rdp.any()


def test_what_is_not_private_at_all_costs_without_end() -> None:
    accountant = Accountant(10, budget=3.0)
    assert accountant.compose(NonPrivateDpEvent()) == math.inf
    assert (accountant.left, accountant.fits(GNMAX)) == (0.0, 0)


def test_left_is_what_the_budget_pays_for_at_the_best_order() -> None:
    accountant = Accountant(10, budget=2.0, orders=ORDERS)
    accountant.step(GNMAX, 100)
    most = accountant.fits(GNMAX)
    assert most == max(
        int(budget_rdp(2.0, 1e-5, order) / argmax_rdp(order, 1.0, 40.0, 10)) - 100 for order in ORDERS
    )
