"""What is drawn ahead is what a release draws."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    DistributedGnMax,
    DpTtac,
    Draw,
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
from ostraka.common.noise import ExactNoise
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import release, release_sums

ROWS, CLASSES, TEACHERS = 5, 6, 20
CHECK = Check(sigma=9, threshold=3)


def gaussian(sigma: float, *shape: int) -> Draw:
    return Draw("gaussian", sigma, shape)


class Recording(ExactNoise):
    """Keeps what was asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.draws: list[Draw] = []

    def gaussian(self, sigma: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self.draws.append(Draw("gaussian", sigma, shape))
        return super().gaussian(sigma, shape)

    def laplace(self, scale: float, shape: tuple[int, ...]) -> NDArray[np.int64]:
        self.draws.append(Draw("laplace", scale, shape))
        return super().laplace(scale, shape)


RECIPE = Recipe(model="mlp", parameters=7, steps=1, batch_size=1, learning_rate=0.1)
CASES = pytest.mark.parametrize(
    ("mechanism", "draws"),
    [
        (GnMax(sigma=2), [gaussian(2, 5, 6)]),
        (DistributedGnMax(sigma=2, honest=4), []),
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
        (Powerset(sigma=2), [gaussian(2, 5, 64)]),
        (Powerset(sigma=2, max_positives=1, check=CHECK), [gaussian(9, 5), gaussian(2, 5, 7)]),
    ],
    ids=lambda value: getattr(value, "kind", None),
)


@CASES
def test_draws_of_every_mechanism(mechanism: Mechanism, draws: list[Draw]) -> None:
    assert mechanism.draws(ROWS, CLASSES) == draws


@CASES
def test_a_release_makes_them(mechanism: Mechanism, draws: list[Draw]) -> None:
    noise, ring = Recording(), Ring(64)
    sums = ring.wrap(np.zeros((ROWS, mechanism.width(CLASSES)), dtype=np.int64))
    scores, totals = np.zeros((ROWS, CLASSES), dtype=np.int64), np.full(ROWS, TEACHERS << 16)
    release(sums, mechanism, noise, ring, classes=CLASSES, totals=totals, scores=scores)
    assert noise.draws == draws


@pytest.mark.parametrize(
    ("mechanism", "draws"),
    [(Ttac(recipe=RECIPE), []), (DpTtac(recipe=RECIPE, radius=1, sigma=3), [gaussian(3, 1, 7)])],
    ids=lambda value: getattr(value, "kind", None),
)
def test_a_round_draws_for_each_parameter(mechanism: Ttac | DpTtac, draws: list[Draw]) -> None:
    noise, ring = Recording(), Ring(64)
    assert mechanism.draws(1, CLASSES) == draws
    release_sums(ring.wrap(np.zeros((1, 7), dtype=np.int64)), mechanism, noise, ring)
    assert noise.draws == draws
