import math

import numpy as np
import pytest

from ostraka.common.mechanism import (
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    Tau,
    Threshold,
)

DRAWS = 200_000
SURE = 6.5
"""Deviations of a sampled share beyond which p is below 1e-9."""


def share_lost(counts: list[float], noise: np.ndarray) -> float:
    return float(np.mean((np.array(counts) + noise).argmax(axis=1) != 0))


def test_randomised_response_is_wrong_as_often_as_equation_6_says() -> None:
    assert RandRes(epsilon=1.0).known_error(1, 10) == pytest.approx(9 / (math.e + 9))
    assert RandRes(epsilon=30.0).known_error(1, 10) < 1e-11


@pytest.mark.parametrize("counts", [[70, 30, 0, 0], [70, 10, 10, 10], [80, 20, 0, 0]])
def test_noise_changes_no_more_confident_answers_than_known(counts: list[float]) -> None:
    noise = np.random.default_rng(0).normal(0, 20, (DRAWS, 4))
    known = Confident(sigma1=5.0, sigma2=20.0, threshold=70.0).known_error(100, 4)
    lost = share_lost(counts, noise)
    assert lost <= known + SURE * math.sqrt(known / DRAWS)


def test_the_bound_is_tight_where_all_other_votes_are_for_one_class() -> None:
    noise = np.random.default_rng(1).normal(0, 20, (DRAWS, 2))
    known = Confident(sigma1=5.0, sigma2=20.0, threshold=70.0).known_error(100, 2)
    assert share_lost([70, 30], noise) == pytest.approx(known, abs=SURE * math.sqrt(known / DRAWS))


def test_without_a_check_it_is_the_error_of_a_unanimous_vote() -> None:
    noise = np.random.default_rng(2).normal(0, 20, (DRAWS, 2))
    known = GnMax(sigma=20.0).known_error(50, 2)
    assert share_lost([50, 0], noise) == pytest.approx(known, abs=SURE * math.sqrt(known / DRAWS))
    assert Binary(sigma=20.0).known_error(50, 7) == known


def test_a_threshold_errs_most_on_the_unanimous_votes_nearer_to_it() -> None:
    noise = np.random.default_rng(4).normal(0, 20, (DRAWS, 2))
    known = Threshold(sigma=20.0, share=0.25).known_error(50, 2)
    turned = float(np.mean(noise[:, 1] - noise[:, 0] - 50 >= (2 * 0.25 - 1) * 50))
    assert turned == pytest.approx(known, abs=SURE * math.sqrt(known / DRAWS))
    assert Threshold(sigma=20.0, share=0.75).known_error(50, 2) == known


def test_laplace_noise_has_its_own_tail() -> None:
    noise = np.random.default_rng(3).laplace(0, 20, (DRAWS, 2))
    known = LnMax(gamma=1 / 20).known_error(50, 2)
    assert share_lost([50, 0], noise) == pytest.approx(known, abs=SURE * math.sqrt(known / DRAWS))


def test_a_label_answered_under_a_check_errs_as_two_classes_do() -> None:
    check = Check(sigma=3.0, threshold=70.0)
    two = Confident(sigma1=3.0, sigma2=20.0, threshold=70.0).known_error(100, 2)
    assert Binary(sigma=20.0, check=check).known_error(100, 9) == two
    assert Tau(sigma=20.0, check=check, tau=1.0).known_error(100, 9) == two
    assert Interactive(sigma1=3.0, sigma2=20.0, threshold=70.0, confidence=0.9).known_error(100, 2) == two


@pytest.mark.parametrize(
    ("mechanism", "most"),
    [
        (Confident(sigma1=5.0, sigma2=20.0, threshold=40.0), 0.75),
        (GnMax(sigma=1e6), 0.75),
        (LnMax(gamma=1e-6), 0.75),
        (Binary(sigma=1.0, check=Check(sigma=1.0, threshold=50.0)), 0.5),
        (Powerset(sigma=1e6), 0.5),
    ],
)
def test_it_is_never_more_than_a_guess_would_be_wrong(mechanism: Mechanism, most: float) -> None:
    assert mechanism.known_error(100, 4) == pytest.approx(most, rel=1e-3)


def test_more_votes_than_there_are_is_unanimous() -> None:
    assert Confident(sigma1=5.0, sigma2=20.0, threshold=400.0).known_error(100, 4) == GnMax(
        sigma=20.0
    ).known_error(100, 4)


def test_clusters_tell_nothing() -> None:
    assert NoiseCluster(sigma=1.0).known_error(100, 4) == 0.0
