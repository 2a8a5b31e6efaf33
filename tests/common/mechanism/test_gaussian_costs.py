"""What mechanisms cost under a Gaussian filter: never less than under a Renyi filter of any order."""

import math
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    MECHANISMS,
    Binary,
    Bins,
    Boost,
    Check,
    Confident,
    DistributedGnMax,
    DpTtac,
    GnMax,
    Gradients,
    Interactive,
    LnMax,
    Mechanism,
    Moments,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Recipe,
    Statistics,
    Tau,
    Threshold,
    Ttac,
)
from ostraka.common.privacy import ORDERS
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import MIN_SIGMA, noise_rho

RECIPE = Recipe(model="m", parameters=9, steps=1, batch_size=1, learning_rate=0.1)
CHECK = Check(sigma=7.0, threshold=9.0)
ALL: tuple[Mechanism, ...] = (
    GnMax(sigma=5.0),
    GnMax(sigma=0.5),
    Confident(sigma1=7.0, sigma2=3.0, threshold=9.0),
    Interactive(sigma1=7.0, sigma2=3.0, threshold=9.0, confidence=0.9),
    LnMax(gamma=0.1),
    Threshold(sigma=5.0, share=0.3),
    DistributedGnMax(sigma=5.0, honest=4),
    Binary(sigma=5.0),
    Binary(sigma=5.0, check=CHECK),
    Tau(sigma=5.0, tau=1.0),
    L1(sigma=5.0, tau1=1.0),
    Powerset(sigma=5.0, check=CHECK),
    NoiseCluster(sigma=5.0),
    RandRes(epsilon=1.0),
    RandResLabels(epsilon=2.0),
    DpTtac(recipe=RECIPE, radius=1.0, sigma=5.0),
    DpTtac(recipe=RECIPE, radius=1.0, sigma=5.0, clip="party"),
    Ttac(recipe=RECIPE),
    Moments(columns=3, codes=2, sigma=5.0),
    Moments(columns=3, codes=2, sigma=5.0, gram_sigma=7.0),
    Bins(columns=3, codes=2, sigma=5.0, gram_sigma=7.0),
    Boost(bins=3, outputs=2, sigma=5.0),
    Gradients(parameters=3, sigma=5.0),
    Statistics(cells=6, columns=2, sigma=5.0),
)
CLASSES = 4


def parts(mechanism: Mechanism, order: float, votes: float = 1.0) -> tuple[float, float, float]:
    """Return what a batch costs, each query, and all answers to one."""
    cost = mechanism.worst_case(order, votes, classes=CLASSES)
    return cost.batch, cost.check, min(mechanism.answers(CLASSES) * cost.answer, cost.most)


@settings(max_examples=50)
@given(st.sampled_from(ALL), st.sampled_from(ORDERS), st.sampled_from([0.5, 1.0, 3.0]))
def test_a_renyi_filter_of_no_order_charges_more(mechanism: Mechanism, order: float, votes: float) -> None:
    """What is mu-GDP has divergences of a mu^2/2 at most."""
    ours, theirs = (parts(mechanism, each, votes) for each in (GAUSSIAN, order))
    for rho, rdp in zip(ours, theirs, strict=True):
        assert rdp <= order * rho * (1 + 1e-9)
        assert (rho > 0) == (rdp > 0)


@pytest.mark.parametrize(
    ("mechanism", "moved"),
    [
        (GnMax(sigma=5.0), 2.0),
        (Threshold(sigma=5.0, share=0.3), 2.0),
        (DistributedGnMax(sigma=5.0, honest=4), 2.0),
        (Binary(sigma=5.0), 2 * CLASSES),
        (Tau(sigma=5.0, tau=1.0), 4.0),
    ],
)
def test_votes_cost_their_counts(mechanism: Mechanism, moved: float) -> None:
    """By all numbers that noise is drawn for: `moved` is how far one vote moves them, squared and summed."""
    assert parts(mechanism, GAUSSIAN)[-1] == pytest.approx(noise_rho(moved**0.5, 5.0), rel=1e-9)


def test_every_mechanism_is_tried() -> None:
    assert {mechanism.kind for mechanism in ALL} == set(MECHANISMS)


class Silent(GnMax):
    """A mechanism of another package, which says nothing of Gaussian filters."""

    kind: Literal["gnmax"] = "gnmax"


@pytest.mark.parametrize("mechanism", [Silent(sigma=5.0), GnMax(sigma=1e-6)])
def test_what_has_no_proof_is_refused(mechanism: Mechanism) -> None:
    assert mechanism.worst_case(8.0, classes=CLASSES).answer > 0
    with pytest.raises(OstrakaError, match="Gaussian filter") as refused:
        mechanism.worst_case(GAUSSIAN, classes=CLASSES)
    assert refused.value.code is ErrorCode.PLAN_INVALID


def test_noise_of_a_step_is_the_least_that_is_proved() -> None:
    assert GnMax(sigma=MIN_SIGMA).has_gaussian_cost(CLASSES)
    assert not GnMax(sigma=math.nextafter(MIN_SIGMA, 0)).has_gaussian_cost(CLASSES)
