"""Noise and thresholds that follow the number of votes."""

import pytest

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

CHECK, TWICE = Check(sigma=3.0, threshold=5.0), Check(sigma=6.0, threshold=10.0)
RECIPE = Recipe(model="mlp", parameters=5, steps=3, batch_size=2, learning_rate=0.1)
SUMS: tuple[Mechanism, ...] = (
    Moments(columns=3, codes=2, sigma=4.0, gram_sigma=5.0),
    Bins(columns=3, codes=2, sigma=4.0),
    Boost(bins=3, outputs=2, sigma=4.0),
    Gradients(parameters=3, sigma=4.0),
    Statistics(cells=6, columns=2, sigma=4.0),
)
PAIRS: list[tuple[Mechanism, Mechanism]] = [
    (GnMax(sigma=4.0), GnMax(sigma=8.0)),
    (
        Confident(sigma1=3.0, sigma2=1.0, threshold=7.0),
        Confident(sigma1=6.0, sigma2=2.0, threshold=14.0),
    ),
    (
        Interactive(sigma1=3.0, sigma2=1.0, threshold=7.0, confidence=0.9),
        Interactive(sigma1=6.0, sigma2=2.0, threshold=14.0, confidence=0.9),
    ),
    (DistributedGnMax(sigma=4.0, honest=3), DistributedGnMax(sigma=8.0, honest=3)),
    (LnMax(gamma=0.5), LnMax(gamma=0.25)),
    (Threshold(sigma=4.0, share=0.3), Threshold(sigma=8.0, share=0.3)),
    (Binary(sigma=4.0), Binary(sigma=8.0)),
    (Tau(sigma=4.0, tau=1.5, check=CHECK), Tau(sigma=8.0, tau=1.5, check=TWICE)),
    (L1(sigma=4.0, tau1=1.5, check=CHECK), L1(sigma=8.0, tau1=1.5, check=TWICE)),
    (Powerset(sigma=4.0, max_positives=2), Powerset(sigma=8.0, max_positives=2)),
    (NoiseCluster(sigma=4.0), NoiseCluster(sigma=4.0)),
    (RandRes(epsilon=4.0), RandRes(epsilon=4.0)),
    (RandResLabels(epsilon=4.0), RandResLabels(epsilon=4.0)),
    (Ttac(recipe=RECIPE), Ttac(recipe=RECIPE)),
    (DpTtac(recipe=RECIPE, radius=1.0, sigma=4.0), DpTtac(recipe=RECIPE, radius=1.0, sigma=4.0)),
    *((one, one) for one in SUMS),
]


@pytest.mark.parametrize(("mechanism", "twice"), PAIRS, ids=lambda mechanism: mechanism.kind)
def test_what_is_in_votes_is_scaled_and_nothing_else(mechanism: Mechanism, twice: Mechanism) -> None:
    assert mechanism.scaled(2.0) == twice
    assert mechanism.scaled(1.0) == mechanism


def test_every_mechanism_is_told_of() -> None:
    assert {mechanism.kind for mechanism, _ in PAIRS} == set(MECHANISMS)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan")])
def test_a_factor_that_scales_nothing_is_refused(factor: float) -> None:
    with pytest.raises(OstrakaError, match="cannot be scaled") as refused:
        GnMax(sigma=4.0).scaled(factor)
    assert refused.value.code is ErrorCode.PLAN_INVALID
