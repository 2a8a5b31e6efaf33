"""The time that accounting may take: public values alone, and enough for whatever the votes are."""

import pytest

from common.mechanism import (
    BOUND,
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
    RandRes,
    Recipe,
    Tau,
    Ttac,
)
from common.privacy import Influence
from guardian.sessions.effort import accounting_s

CHECK = Check(sigma=10, threshold=30)
MECHANISMS: list[Mechanism] = [
    GnMax(sigma=40),
    Confident(sigma1=40, sigma2=20, threshold=100),
    Interactive(sigma1=40, sigma2=20, threshold=100, confidence=0.9),
    LnMax(gamma=0.1),
    Binary(sigma=10),
    Tau(sigma=10, tau=1.5),
    L1(sigma=10, tau1=2, check=CHECK),
    Powerset(sigma=10),
    NoiseCluster(sigma=10),
]
BOUNDS: list[BOUND] = ["theorem6", "exact"]
EACH = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: m.kind)


@EACH
def test_the_worst_case_is_known_without_votes(mechanism: Mechanism) -> None:
    assert accounting_s(mechanism, 1000, 10, 50, "worst_case") == 0


@EACH
@pytest.mark.parametrize("bound", BOUNDS)
def test_every_query_takes_its_time(mechanism: Mechanism, bound: BOUND) -> None:
    few, many = (accounting_s(mechanism, rows, 10, 50, bound) for rows in (10, 1000))
    assert 0 < few < many < 60


@pytest.mark.parametrize("bound", BOUNDS)
def test_rounds_of_a_training_are_charged_without_a_look_at_them(bound: BOUND) -> None:
    recipe = Recipe(model="mlp", parameters=10**6, steps=1, batch_size=1, learning_rate=0.1)
    for mechanism in (Ttac(recipe=recipe), DpTtac(recipe=recipe, radius=1, sigma=3)):
        assert accounting_s(mechanism, 1, 10, 50, bound) == 0


@pytest.mark.parametrize("bound", BOUNDS)
def test_labels_drawn_anew_are_charged_without_a_look_at_them(bound: BOUND) -> None:
    assert accounting_s(RandRes(epsilon=1), 1000, 10, 50, bound) == 0


def test_counts_that_may_lie_far_apart_take_longer() -> None:
    near, far = (accounting_s(GnMax(sigma=sigma), 100, 10, 250, "exact") for sigma in (40, 2))
    assert far > 10 * near


def test_a_query_takes_a_second_at_most_however_far_its_counts_lie_apart() -> None:
    for classes in (2, 10, 50, 128):
        for sigma in (1e-3, 1.0, 20.0):
            mechanism = Confident(sigma1=sigma, sigma2=sigma, threshold=1)
            assert accounting_s(mechanism, 100, classes, 10**6, "exact") < 100


def test_a_check_on_clipped_ballots_takes_longer() -> None:
    plain, checked = (accounting_s(Tau(sigma=5, tau=1, check=c), 10, 10, 50, "exact") for c in (None, CHECK))
    assert checked > plain


def test_several_votes_and_weighted_sets_take_longer() -> None:
    once, twice = (accounting_s(GnMax(sigma=40), 100, 10, 50, "exact", Influence(votes)) for votes in (1, 2))
    assert twice > once
    whole, weighted = (
        accounting_s(Powerset(sigma=10), 100, 10, 50, "exact", weighted=each) for each in (False, True)
    )
    assert weighted > whole


def test_who_votes_on_nothing_takes_no_time() -> None:
    assert accounting_s(GnMax(sigma=40), 0, 10, 50, "exact") == 0
