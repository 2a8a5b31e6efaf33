"""What is drawn ahead is what a release draws."""

import pytest

from common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from guardian.noise import Draw, draws_of

ROWS, CLASSES, TEACHERS = 5, 6, 20
CHECK = Check(sigma=9, threshold=3)


def gaussian(sigma: float, *shape: int) -> Draw:
    return Draw("gaussian", sigma, shape)


@pytest.mark.parametrize(
    ("mechanism", "draws"),
    [
        (GnMax(sigma=2), [gaussian(2, 5, 6)]),
        (NoiseCluster(sigma=2), [gaussian(2, 5, 6)]),
        (Confident(sigma1=4, sigma2=2, threshold=3), [gaussian(4, 5), gaussian(2, 5, 6)]),
        (
            Interactive(sigma1=4, sigma2=2, threshold=3, confidence=0.9),
            [gaussian(4, 5), gaussian(2, 5, 6)],
        ),
        (LnMax(gamma=0.25), [Draw("laplace", 4.0, (5, 6))]),
        (Binary(sigma=2), [gaussian(2, 2, 5, 6)]),
        (Tau(sigma=2, tau=1, check=CHECK), [gaussian(9, 5, 6), gaussian(2, 2, 5, 6)]),
        (L1(sigma=2, tau1=1, check=CHECK), [gaussian(9, 5, 6), gaussian(2, 2, 5, 6)]),
        (Powerset(sigma=2), [gaussian(2, 5, 20)]),
        (Powerset(sigma=2, max_positives=1, check=CHECK), [gaussian(9, 5), gaussian(2, 5, 7)]),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_draws_of_every_mechanism(mechanism: Mechanism, draws: list[Draw]) -> None:
    assert draws_of(mechanism, ROWS, CLASSES, TEACHERS) == draws


def test_a_draw_counts_its_values() -> None:
    assert gaussian(1.0, 3, 4).values == 12
    assert gaussian(1.0).values == 1
