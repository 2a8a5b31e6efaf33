"""Of two classes, one of them rare, a search finds the share of votes from which the rare one is said."""

import math

import numpy as np
import pytest

from ostraka.common.mechanism import GnMax, Threshold
from ostraka.common.planning.search.allowance import NewBudget
from ostraka.common.planning.search.families import families
from ostraka.common.planning.search.forecast import Forecast, Forecaster
from ostraka.common.planning.search.search import Search, no_label, worst_rates
from ostraka.common.planning.search.vote_sample import VoteSample

TEACHERS = 40
DRAWS = 20_000
CLOSE = 6.2 / (2 * math.sqrt(DRAWS))
"""Six deviations of a share of so many draws: exceeded with probability below 1e-9."""
YES = np.array([14.0, 12.0, *[3.0] * 18])
"""Votes for the class that two queries of twenty have: no argmax says it, and a fifth of votes tells it."""
TRUTH = np.repeat([1, 0], [2, 18])


def rare(second: bool = True) -> VoteSample:
    """Votes of which the second class, or the first, is rare."""
    counts = np.column_stack([TEACHERS - YES, YES])
    return VoteSample(counts if second else counts[:, ::-1], TEACHERS, TRUTH if second else 1 - TRUTH)


@pytest.mark.parametrize("share", [0.1, 0.25, 0.7])
def test_a_forecast_is_that_of_drawn_noise(share: float) -> None:
    noise = np.random.default_rng(2).normal(scale=5.0, size=(DRAWS, 2, len(YES)))
    ahead = 2 * YES - TEACHERS + noise[:, 1] - noise[:, 0]
    said = (ahead >= (2 * share - 1) * TEACHERS).astype(np.int64)
    drawn = (said == TRUTH).mean(axis=0)
    forecast = Forecaster(rare()).forecast(Threshold(sigma=5.0, share=share))
    assert forecast.right[:, 0] == pytest.approx(drawn, abs=CLOSE)


def test_whoever_always_says_the_frequent_class_is_right_of_one_class_in_two() -> None:
    forecaster = Forecaster(rare())
    assert forecaster.forecast(GnMax(sigma=0.01)).accuracy == pytest.approx(0.5)
    assert forecaster.forecast(Threshold(sigma=0.01, share=0.2)).accuracy == pytest.approx(1.0)
    assert forecaster.noiseless() == pytest.approx(1.0)


def test_of_a_class_that_gets_no_label_none_is_right() -> None:
    frequent = (TRUTH == 0)[:, None]
    silent = Forecast(frequent.astype(float), np.ones((len(TRUTH), 1)), ~frequent, alike=True)
    assert silent.accuracy == 0.5
    assert silent.right_labels == pytest.approx(0.9 * 0.5)


def test_an_argmax_is_a_threshold_at_one_half() -> None:
    forecaster = Forecaster(rare())
    argmax, half = (forecaster.forecast(one) for one in (GnMax(sigma=6.0), Threshold(sigma=6.0, share=0.5)))
    assert argmax.right == pytest.approx(half.right, abs=1e-9)


@pytest.mark.parametrize("second", [True, False])
def test_a_search_finds_the_share_of_either_class(second: bool) -> None:
    sample = rare(second)
    forecaster = Forecaster(sample)
    (family,) = families(sample, "threshold")
    search = Search(forecaster, 100, 0.9, worst_rates(2))
    found = search.best(family, NewBudget(60.0, 1e-5).choices(1.0)[:1])[1]
    assert search.good(found)
    assert isinstance(found.mechanism, Threshold)
    rarer = found.mechanism.share if second else 1 - found.mechanism.share
    assert 3 / TEACHERS < rarer < 12 / TEACHERS


@pytest.mark.heavy
def test_a_budget_too_small_names_one_at_which_a_threshold_is_right() -> None:
    """No budget has an argmax say the rare class: it must not be what is judged by."""
    sample = rare()
    search, small = Search(Forecaster(sample), 100, 0.9, worst_rates(2)), NewBudget(0.1, 1e-5)
    refused = no_label(search, families(sample), small, "raise it")
    assert "does: raise it" in refused.message


@pytest.mark.parametrize("yeses", [0, 4, 10])
def test_classes_that_are_not_rare_are_judged_by_all_labels(yeses: int) -> None:
    """A fifth is not rare; nor is a class that no query has, of which nothing is known."""
    sample = VoteSample(rare().counts, TEACHERS, np.repeat([1, 0], [yeses, 20 - yeses]))
    assert [family.kind for family in families(sample)] == ["gnmax", "confident"]
    assert Forecaster(sample).forecast(GnMax(sigma=0.01)).accuracy == pytest.approx(1 - yeses / 20)
