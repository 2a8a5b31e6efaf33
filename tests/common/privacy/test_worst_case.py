import itertools
import math

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DpTtac,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Recipe,
    Tau,
    Ttac,
)
from ostraka.common.privacy import ORDERS, amount, pure_rdp
from ostraka.common.privacy.argmax import argmax_rdp
from ostraka.common.privacy.worst_case import check_rdp, laplace_rdp

CHECK = Check(sigma=50, threshold=60)
RECIPE = Recipe(model="mlp", parameters=2**20, steps=1, batch_size=1, learning_rate=0.1)
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=20),
    Confident(sigma1=150, sigma2=40, threshold=200),
    Interactive(sigma1=150, sigma2=40, threshold=200, confidence=0.9),
    LnMax(gamma=0.05),
    Binary(sigma=20),
    Binary(sigma=20, check=CHECK),
    Tau(sigma=20, tau=1.5, check=CHECK),
    L1(sigma=20, tau1=2, check=CHECK),
    Powerset(sigma=20, check=CHECK),
    NoiseCluster(sigma=20),
    DpTtac(recipe=RECIPE, radius=1, sigma=20),
]
mechanisms = st.sampled_from(MECHANISMS)
orders = st.sampled_from(ORDERS)


def test_an_argmax_costs_two_thirds_of_the_order_over_the_variance() -> None:
    for mechanism in (GnMax(sigma=20), Powerset(sigma=20)):
        cost = mechanism.worst_case(8, classes=4)
        assert cost.check == cost.batch == 0
        for answers in (1, mechanism.answers(4)):
            total = cost.rdp(np.ones((3, answers), dtype=np.bool_))
            assert total == pytest.approx(3 * argmax_rdp(8, 1, 20, mechanism.width(4)))
            assert 0.64 < total / (3 * 8 / 400) < 0.66


def test_a_sum_of_clipped_gradients_costs_what_a_record_moves_it_and_what_rounding_adds() -> None:
    """2^20 parameters, each a step of 2^-16 farther, lie 2^10 steps apart."""
    mechanism = DpTtac(recipe=RECIPE, radius=3.0, sigma=20)
    for votes in (1, 2, 6):
        cost = mechanism.worst_case(8, votes, classes=4)
        assert cost.rdp(np.ones((5, 1), dtype=np.bool_)) == pytest.approx(
            5 * 8 * (2 * votes + 2.0**-6) ** 2 / (2 * 400)
        )


def test_a_sum_of_clipped_updates_costs_two_radii_whatever_a_unit_is() -> None:
    mechanism = DpTtac(recipe=RECIPE, clip="party", radius=3.0, sigma=20)
    for votes in (1, 2, 6):
        assert mechanism.worst_case(8, votes, classes=4).answer == pytest.approx(8 * 4 / (2 * 400))


def test_a_sum_without_noise_counts_as_free_because_nobody_can_tell() -> None:
    cost = Ttac(recipe=RECIPE).worst_case(8, 5, classes=4)
    assert (cost.reservation(100, 1), cost.rdp(np.ones((100, 1), dtype=np.bool_))) == (0, 0.0)


def test_a_check_costs_at_most_half_of_that_and_stays_to_be_paid() -> None:
    cost = Confident(sigma1=150, sigma2=40, threshold=200).worst_case(8, classes=10)
    assert 8 / (2 * 150**2) / 1.58 < cost.check < 8 / (2 * 150**2) / 1.5
    assert cost.answer == pytest.approx(argmax_rdp(8, 1, 40, 10))
    assert Interactive(sigma1=150, sigma2=40, threshold=1, confidence=1).worst_case(8, classes=10) == cost


def test_labels_cost_what_two_outcomes_cost_and_together_what_the_radius_allows() -> None:
    binary = Binary(sigma=20).worst_case(32, classes=14)
    tau = Tau(sigma=20, tau=1.5).worst_case(32, classes=14)
    assert 32 / 400 / 1.43 < binary.answer < 32 / 400 / 1.41
    assert binary.most == pytest.approx(14 * binary.answer)
    assert tau.answer == binary.answer
    assert 2 * 32 * 1.5**2 / 400 / 1.45 < tau.most < 2 * 32 * 1.5**2 / 400 / 1.35
    everything = np.ones((3, 14), dtype=np.bool_)
    assert binary.rdp(everything) == pytest.approx(3 * 14 * binary.answer)
    assert tau.rdp(everything) == pytest.approx(3 * tau.most)
    assert tau.rdp(everything[:, :2]) == pytest.approx(3 * 2 * tau.answer)


def test_every_label_is_checked_whatever_comes_of_it() -> None:
    nothing = np.zeros((2, 14), dtype=np.bool_)
    for mechanism in (Binary(sigma=20, check=CHECK), Tau(sigma=20, tau=1.5, check=CHECK)):
        assert mechanism.worst_case(8, classes=14).rdp(nothing) > 0
    binary = Binary(sigma=20, check=CHECK).worst_case(8, classes=14)
    one = Powerset(sigma=20, check=CHECK).worst_case(8, classes=14)
    assert binary.check == pytest.approx(14 * one.check)
    tau = Tau(sigma=20, tau=1.5, check=CHECK).worst_case(8, classes=14)
    assert 2 * 1.5**2 * 8 / (2 * 50**2) / 1.58 < tau.check < 2 * 1.5**2 * 8 / (2 * 50**2) / 1.5


def test_clusters_cost_once_however_many_there_are() -> None:
    cost = NoiseCluster(sigma=20).worst_case(8, classes=10)
    for clusters in (1, 500):
        assert cost.rdp(np.ones((clusters, 1), dtype=np.bool_)) == pytest.approx(cost.batch)
        assert cost.reservation(clusters, 1) == amount(cost.batch)
    assert argmax_rdp(8, 1, 20, 20) <= cost.batch < 0.66 * 8 / 400
    assert 2 * check_rdp(8, 1, 20) <= cost.batch
    assert NoiseCluster(sigma=20).worst_case(8, 3, classes=10).batch == pytest.approx(8 * 9 / 400)
    assert cost.rdp(np.ones((0, 1), dtype=np.bool_)) == 0


def test_laplace_noise_is_twice_gamma_differentially_private() -> None:
    cost = LnMax(gamma=0.05).worst_case(1000, classes=10)
    assert 0.07 < cost.answer < 0.1
    assert LnMax(gamma=0.05).worst_case(1000, 3.0, classes=10).answer < 0.3


@pytest.mark.parametrize("order", [1.01, 2.0, 64.0, 1024.0])
@pytest.mark.parametrize(("steps", "step"), [(1, 1e-7), (40, 1e-5), (64, 0.01), (9, 0.8), (3, 40.0)])
def test_laplace_noise_costs_the_sum_over_its_lattice(steps: int, step: float, order: float) -> None:
    with mpmath.workdps(60):
        a, q = mpmath.mpf(order), mpmath.exp(-mpmath.mpf(step))
        outside = (q ** ((1 - a) * steps) + q ** (a * steps)) / (1 - q)
        inside = mpmath.fsum(q ** (a * k + (1 - a) * (steps - k)) for k in range(1, steps))
        true = mpmath.log((1 - q) / (1 + q) * (outside + inside)) / (a - 1)
        found = laplace_rdp(order, steps * step, step)
        assert float(true) <= found <= float(true) * (1 + 1e-6) + 1e-11 * steps * step


@pytest.mark.parametrize("gamma", [0.02, 0.3, 2.0])
@pytest.mark.parametrize("order", [1.5, 8.0, 64.0])
def test_no_two_classes_cost_more_under_laplace_noise(gamma: float, order: float) -> None:
    """P(X - Y >= m) = (2 + g m)/(4 e^(g m)) for m >= 0 (Papernot et al. 2017, Lemma 4)."""
    charged = LnMax(gamma=gamma).worst_case(order, classes=2).answer

    def wins(gap: float) -> float:
        less = (2 + gamma * abs(gap)) / 4 * math.exp(-gamma * abs(gap))
        return 1 - less if gap >= 0 else less

    for gap in np.linspace(-6, 6, 49) / gamma:
        p, r = wins(gap), wins(gap + 2)
        moment = p**order * r ** (1 - order) + (1 - p) ** order * (1 - r) ** (1 - order)
        assert math.log(moment) / (order - 1) <= charged


def test_a_little_laplace_noise_costs_half_of_what_a_pure_guarantee_does() -> None:
    cost = LnMax(gamma=0.035).worst_case(3.5, classes=10).answer
    assert cost == pytest.approx(0.5 * pure_rdp(0.07, 3.5), rel=0.05)
    for gamma, order in itertools.product([1e-4, 0.1, 1.0, 20.0], [1.01, 2.0, 64.0, 1024.0]):
        assert LnMax(gamma=gamma).worst_case(order, classes=10).answer <= pure_rdp(2 * gamma, order)


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 30.0, 800.0])
@pytest.mark.parametrize("order", [1.01, 2.0, 64.0, 1024.0])
def test_pure_privacy_costs_what_randomised_response_does(epsilon: float, order: float) -> None:
    with mpmath.workdps(800):
        p = 1 / (1 + mpmath.exp(-epsilon))
        q = 1 - p
        true = mpmath.log(p**order * q ** (1 - order) + q**order * p ** (1 - order)) / (order - 1)
        assert pure_rdp(epsilon, order) == pytest.approx(float(true), rel=1e-9)


@pytest.mark.heavy
@settings(deadline=None)
@given(mechanisms, orders, st.integers(2, 5))
def test_more_votes_a_person_cost_more(mechanism: Mechanism, order: float, sensitivity: int) -> None:
    answered = np.ones((1, mechanism.answers(6)), dtype=np.bool_)
    one = mechanism.worst_case(order, classes=6).rdp(answered)
    assert one < mechanism.worst_case(order, float(sensitivity), classes=6).rdp(answered)


@settings(deadline=None)
@given(mechanisms, orders, st.integers(0, 40), st.data())
def test_a_charge_never_exceeds_its_reservation(
    mechanism: Mechanism, order: float, queries: int, data: st.DataObject
) -> None:
    cost, answers = mechanism.worst_case(order, classes=6), mechanism.answers(6)
    seed = data.draw(st.integers(0, 2**32 - 1))
    answered = np.random.default_rng(seed).random((queries, answers)) < 0.5
    charged = cost.amount(answered)
    assert charged <= cost.reservation(queries, answers)
    assert charged >= amount(cost.rdp(answered) * (1 - 1e-9)) - 1
    assert cost.reservation(queries, answers) == cost.amount(np.ones_like(answered))


@pytest.mark.parametrize(("order", "sensitivity"), [(1.0, 1.0), (math.nan, 1.0), (2.0, 0.0), (2.0, math.inf)])
def test_what_has_no_cost_is_refused(order: float, sensitivity: float) -> None:
    with pytest.raises(ValueError, match="must be a finite number"):
        GnMax(sigma=1).worst_case(order, sensitivity, classes=10)
