"""Forecasts against noise that is drawn, and what a sample of votes says."""

import math

import numpy as np
import pytest

from ostraka.common.mechanism import Binary, Check, Confident, GnMax, LnMax, Mechanism, Powerset, Tau
from ostraka.common.planning.search.forecast import Forecast, Forecaster, winning
from ostraka.common.planning.search.vote_sample import VoteSample, assume_classes, assume_labels

DRAWS = 20_000
CLOSE = 6.2 / (2 * math.sqrt(DRAWS))
"""Six deviations of a share of so many draws: exceeded with probability below 1e-9."""


@pytest.mark.parametrize("sigma", [1.0, 12.0, 300.0])
def test_the_chance_to_win_is_that_of_drawn_noise(sigma: float) -> None:
    counts = np.array([[20.0, 17.0, 3.0, 0.0], [10.0, 10.0, 10.0, 10.0], [0.0, 40.0, 0.0, 0.0]])
    chosen = np.array([0, 2, 1])
    noise = np.random.default_rng(1).normal(scale=sigma, size=(DRAWS, *counts.shape))
    drawn = ((counts + noise).argmax(axis=2) == chosen).mean(axis=0)
    assert winning(counts, chosen, sigma) == pytest.approx(drawn, abs=CLOSE)


def test_without_noise_the_most_votes_win() -> None:
    sample = VoteSample(np.array([[9.0, 1.0], [3.0, 7.0]]), 10, np.array([0, 0]))
    forecast = Forecaster(sample).forecast(GnMax(sigma=1e-3))
    assert forecast.right[:, 0].tolist() == pytest.approx([1.0, 0.0])
    assert (forecast.answers, forecast.right_labels, forecast.accuracy) == pytest.approx((1.0, 0.5, 0.5))
    assert Forecaster(sample).noiseless() == 0.5


def test_an_accuracy_of_labels_is_balanced() -> None:
    positive = np.array([[True, False, False, False]])
    always_no = Forecast(np.ones((1, 4)), np.array([[0.0, 1.0, 1.0, 1.0]]), positive)
    assert always_no.accuracy == 0.5
    assert always_no.right_labels == 3.0
    unanswered = Forecast(np.array([[0.0, 1.0, 1.0, 1.0]]), always_no.right, positive)
    assert math.isnan(unanswered.accuracy)


def test_a_check_withholds_what_is_unclear() -> None:
    sample = VoteSample(np.array([[40.0, 0.0], [21.0, 19.0]]), 40, np.array([0, 1]))
    forecast = Forecaster(sample).forecast(Confident(sigma1=1.0, sigma2=5.0, threshold=30.0))
    assert forecast.given[:, 0].tolist() == pytest.approx([1.0, 0.0], abs=1e-9)
    assert forecast.accuracy > 0.999


@pytest.mark.parametrize("sigma", [0.5, 6.0])
def test_sets_without_votes_win_as_often_as_if_each_had_its_own_noise(sigma: float) -> None:
    ballots = np.zeros((12, 400, 5), dtype=np.bool_)
    ballots[:7, :, 0] = True
    truth = np.zeros((400, 5), dtype=np.bool_)
    truth[:, 0] = True
    sample = VoteSample(ballots.sum(axis=0).astype(float), 12, truth, ballots)
    mechanism = Powerset(sigma=sigma, max_positives=2)
    forecast = Forecaster(sample).forecast(mechanism)
    counts = mechanism.ballot.count(ballots.astype(float), 5)[0]
    noise = np.random.default_rng(3).normal(scale=sigma, size=(DRAWS, len(counts)))
    drawn = ((counts + noise).argmax(axis=1) == counts.argmax()).mean()
    all_right = forecast.right.min(axis=1).mean()
    assert drawn - 0.1 < all_right < drawn + 0.25


@pytest.mark.parametrize(
    "mechanism",
    [
        Binary(sigma=4.0),
        Binary(sigma=4.0, check=Check(sigma=9.0, threshold=20.0)),
        Tau(sigma=4.0, tau=1.0),
        Powerset(sigma=4.0, max_positives=2),
        Powerset(sigma=4.0, max_positives=2, check=Check(sigma=9.0, threshold=10.0)),
    ],
    ids=str,
)
def test_forecasts_are_probabilities_of_every_answer(mechanism: Mechanism) -> None:
    forecast = Forecaster(assume_labels(6, 30, 0.9, 2.0).thin(50)).forecast(mechanism)
    assert forecast.right.shape == (50, 6)
    for shares in (forecast.given, forecast.right):
        assert shares.min() >= 0
        assert shares.max() <= 1
    assert 0 < forecast.right_labels <= forecast.answers <= 6


def test_what_is_not_searched_has_no_forecast() -> None:
    with pytest.raises(ValueError, match="lnmax"):
        Forecaster(assume_classes(3, 10, 0.8)).forecast(LnMax(gamma=0.1))


def test_assumed_teachers_are_as_accurate_as_told() -> None:
    sample = assume_classes(10, 250, 0.8)
    rows = np.arange(len(sample.counts))
    assert (sample.counts.sum(axis=1) == 250).all()
    assert sample.counts[rows, sample.truth].mean() / 250 == pytest.approx(0.8, abs=0.05)
    labels = assume_labels(8, 50, 0.9, 2.0)
    assert labels.ballots is not None
    assert (labels.ballots == labels.truth).mean() == pytest.approx(0.9, abs=0.03)
    assert labels.truth.sum(axis=1).mean() == pytest.approx(2.0, abs=0.2)
    assert np.array_equal(labels.counts, assume_labels(8, 50, 0.9, 2.0).counts)


def test_teachers_that_err_together_leave_some_queries_unclear() -> None:
    sample = assume_classes(10, 250, 0.8)
    largest = sample.counts.max(axis=1) / 250
    assert largest.min() < 0.5 < 0.9 < largest.max()
    assert 0.9 < Forecaster(sample).noiseless() < 1
