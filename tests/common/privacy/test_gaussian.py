"""What a Gaussian filter adds up and converts, beside 50 digits and beside adaptive releases, exactly."""

import math
from collections.abc import Callable
from itertools import pairwise

import mpmath as mp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.privacy import InputError, amount, budget_amount, budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN, holds_at
from ostraka.common.privacy.gaussian import MIN_SIGMA, gaussian_budget, gaussian_epsilon, noise_rho, pure_rho

DIGITS = 50
EPSILONS = st.floats(-3, 4).map(lambda power: 10.0**power)
DELTAS = st.floats(-12, -1).map(lambda power: 10.0**power)


def tail(x: mp.mpf) -> mp.mpf:
    return mp.erfc(x / mp.sqrt(2)) / 2


def exact_delta(of: float, mu: mp.mpf) -> mp.mpf:
    """Delta of mu-GDP (Dong, Roth and Su 2022, Corollary 2.13)."""
    return tail(of / mu - mu / 2) - mp.exp(mp.mpf(of)) * tail(of / mu + mu / 2)


@given(st.floats(-9, 6), DELTAS)
def test_an_epsilon_is_as_small_as_delta_allows_and_no_smaller(power: float, delta: float) -> None:
    rho = 10.0**power
    found = epsilon(rho, GAUSSIAN, delta)
    with mp.workdps(DIGITS):
        mu = mp.sqrt(2 * mp.mpf(rho))
        assert exact_delta(found, mu) <= delta
        if found:
            assert exact_delta(found * (1 - 1e-6), mu) > delta


@given(EPSILONS, DELTAS)
def test_a_budget_is_all_that_its_epsilon_allows(of: float, delta: float) -> None:
    rho = budget_rdp(of, delta, GAUSSIAN)
    with mp.workdps(DIGITS):
        assert exact_delta(of, mp.sqrt(2 * mp.mpf(rho))) <= delta
        assert exact_delta(of, mp.sqrt(2 * mp.mpf(rho) * (1 + 1e-6))) > delta
    assert epsilon(rho, GAUSSIAN, delta) <= of
    assert amount(budget_amount(rho) * 1e-12) <= budget_amount(rho) + 1


@given(st.floats(0.05, 20), DELTAS)
def test_it_is_dp_accountings_figure(of: float, delta: float) -> None:
    from dp_accounting.pld.privacy_loss_mechanism import GaussianPrivacyLoss

    sigma = 1 / math.sqrt(2 * gaussian_budget(of, delta))
    assert GaussianPrivacyLoss(sigma).get_delta_for_epsilon(of) == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize(("rho", "told"), [(0.0, 0.0), (1e300, math.inf), (math.inf, math.inf)])
def test_extremes(rho: float, told: float) -> None:
    assert gaussian_epsilon(rho, 1e-5) == told


def test_an_endless_budget_allows_what_can_be_counted() -> None:
    assert gaussian_budget(1.7e308, 1e-5) >= gaussian_budget(1e290, 1e-5) > 0


@pytest.mark.parametrize(
    "ask",
    [
        lambda: gaussian_epsilon(-1.0, 1e-5),
        lambda: gaussian_epsilon(math.nan, 1e-5),
        lambda: gaussian_epsilon(1.0, 0.0),
        lambda: gaussian_budget(0.0, 1e-5),
        lambda: gaussian_budget(1.0, 1.0),
        lambda: epsilon([1.0, 1.0], [8.0, GAUSSIAN], 1e-5),
        lambda: noise_rho(1.0, MIN_SIGMA / 2),
        lambda: noise_rho(1.0, math.nan),
    ],
)
def test_what_makes_no_sense_is_refused(ask: Callable[[], float]) -> None:
    with pytest.raises(InputError):
        ask()


# Discrete noise.


def quantiles(s: float, reach: int) -> list[mp.mpf]:
    """g(k) = Phi^-1(P(Y <= k)) of a discrete Gaussian for k = 0, 1, ..., from its upper tails."""
    weights = [mp.exp(-(mp.mpf(k) ** 2) / (2 * mp.mpf(s) ** 2)) for k in range(reach + 40 * math.ceil(s))]
    whole = 2 * mp.fsum(weights) - 1
    tails = [mp.fsum(weights[k + 1 :]) / whole for k in range(reach)]
    return [
        mp.findroot(lambda z, p=p: mp.log(tail(z)) - mp.log(p), mp.sqrt(-2 * mp.log(2 * p)) + 0.1)
        for p in tails
    ]


@pytest.mark.parametrize("s", [1.0, 1.3, 4.0])
def test_discrete_noise_is_as_good_as_continuous_noise_of_a_little_less_variance(s: float) -> None:
    with mp.workdps(DIGITS):
        g = quantiles(s, math.ceil(6 * s))
        steps = [2 * g[0], *(high - low for low, high in pairwise(g))]  # g(-1) = -g(0)
        assert max(steps) <= 1 / mp.sqrt(mp.mpf(s) ** 2 - 0.5)
        assert max(steps) > 1 / mp.mpf(s), "without the correction it would not hold"


def test_a_unit_pays_for_the_correction() -> None:
    assert noise_rho(2.0, 1.0) > 2.0
    assert noise_rho(2.0, 1.0) == pytest.approx(2 * (1 + 2.0**-33), rel=2e-12)
    assert noise_rho(3.0, MIN_SIGMA) == pytest.approx(9 * 2.0**32, rel=1e-11)


# What is pure.


@given(st.floats(-6, 4))
def test_what_is_pure_is_gaussian_too(power: float) -> None:
    of = 10.0**power
    with mp.workdps(DIGITS):
        kink = 1 / (1 + mp.exp(mp.mpf(of)))
        half = mp.sqrt(2 * mp.mpf(pure_rho(of))) / 2
        assert tail(half) <= kink, "G_mu lies below the trade-off function where that has its kink"
        assert tail(half * (1 - (1e-2 if of > 700 else 2e-6))) > kink


# One filter's amounts under the other.


@pytest.mark.parametrize(
    ("charged", "order", "holds"),
    [
        (8.0, 8.0, True),
        (8.0, 4.0, True),
        (4.0, 8.0, False),
        (GAUSSIAN, GAUSSIAN, True),
        (GAUSSIAN, 8.0, False),
        (8.0, GAUSSIAN, False),
    ],
)
def test_amounts_hold_at_smaller_orders_of_the_same_filter(
    charged: float, order: float, *, holds: bool
) -> None:
    assert holds_at(charged, order) is holds


# Adaptive releases.


@given(st.data(), st.floats(0.05, 3), st.floats(-6, -1))
def test_no_adaptive_sequence_exceeds_its_budget(data: st.DataObject, of: float, power: float) -> None:
    """What comes next, and how much is spent on it, follows from the bits before; it stops where it must."""
    delta = 10.0**power
    rho = gaussian_budget(of, delta)
    beyond = transcripts(data, rho, of, mp.mpf(1), mp.mpf(1), depth=3)
    assert beyond <= delta


def transcripts(
    data: st.DataObject, left: float, of: float, ours: mp.mpf, theirs: mp.mpf, depth: int
) -> mp.mpf:
    """Add up (P - e^epsilon R)+ over what follows a transcript that has these probabilities."""
    share = data.draw(st.sampled_from([0.25, 0.5, 1.0])) if depth else 0.0
    if not share or left <= 0:
        return max(mp.mpf(0), ours - mp.exp(of) * theirs)
    shift = math.sqrt(2 * share * left)
    at = data.draw(st.floats(-3, 3))
    sign = data.draw(st.sampled_from([-1, 1]))
    rest = left - share * left
    return mp.fsum(
        transcripts(
            data, rest, of, ours * tail(side * at), theirs * tail(side * (at + sign * shift)), depth - 1
        )
        for side in (1, -1)
    )


def test_a_filter_that_allowed_more_would_be_exceeded() -> None:
    """The same bound is attained: one release, told apart where it tells most."""
    rho = gaussian_budget(1.0, 1e-3)
    mu = math.sqrt(2 * rho)
    best = max(tail(x) - mp.e * tail(x + mu) for x in (1 / mu - mu / 2 + step / 100 for step in range(-5, 6)))
    assert best == pytest.approx(1e-3, rel=1e-6)
