"""Labels that are no better than what is free are bought by no plan, whatever share of them is right."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode
from ostraka.common.mechanism import GnMax
from ostraka.common.planning.search.allowance import NewBudget
from ostraka.common.planning.search.families import families
from ostraka.common.planning.search.floor import POINT, Floor
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.result import tell_advice
from ostraka.common.planning.search.search import Search, no_label, worst_rates
from ostraka.common.planning.search.search_options import SearchOptions
from ostraka.common.planning.search.vote_sample import RARE_REST, VoteSample, assume_classes, assume_labels

TEACHERS = 12
BUDGET = NewBudget(8.0, 1e-5)
RICH = NewBudget(1e4, 1e-5).choices(1.0)[10]
QUIET = GnMax(sigma=0.01)


def votes(said: NDArray[np.int64], truth: NDArray[np.int64]) -> VoteSample:
    """Return unanimous votes."""
    return VoteSample(TEACHERS * np.eye(2)[said], TEACHERS, truth)


def searching(sample: VoteSample, own: float | None = None) -> Search:
    rates = worst_rates(sample.classes)
    return Search(Forecaster(sample), 100, 0.6, rates, Floor.of(sample, own))


def few_ill(rows: int = 768, ill: float = 0.349) -> NDArray[np.int64]:
    """Return diagnoses of which as many are positive as in the Pima table."""
    return (np.arange(rows) < round(ill * rows)).astype(np.int64)


def test_labels_as_often_right_as_the_most_frequent_class_are_no_gain() -> None:
    truth = few_ill()
    said = np.zeros_like(truth)
    said[:1] = 1
    search = searching(votes(said, truth))
    found = search.outcome(QUIET, RICH)
    assert found.accuracy == pytest.approx(0.6523, abs=1e-4), "as the search took for good enough once"
    assert 0 < (found.gain or 0) < POINT
    assert not search.good(found)
    refused = no_label(search, families(search.forecaster.sample, "gnmax"), BUDGET, "raise it")
    assert refused.code is ErrorCode.BUDGET_TOO_SMALL
    assert "No plan has any gain" in refused.message
    assert "always saying the most frequent class is right on 65.1%" in refused.message


def test_labels_below_what_an_own_model_says_are_no_gain() -> None:
    truth = few_ill()
    said = np.where(np.arange(len(truth)) % 10 < 3, 1 - truth, truth)
    better, worse = (searching(votes(said, truth), own=own) for own in (0.68, 0.725))
    assert better.outcome(QUIET, RICH).gain == pytest.approx(0.7 - 0.68, abs=2e-3)
    assert not worse.good(worse.outcome(QUIET, RICH))
    refused = no_label(worse, families(worse.forecaster.sample, "gnmax"), BUDGET, "raise it")
    assert "your own model alone is right on 72.5%" in refused.message


def test_of_a_rare_class_the_gain_is_balanced() -> None:
    truth = few_ill(1000, ill=RARE_REST / 4)
    said = truth.copy()
    said[: truth.sum() // 2] = 0
    search = searching(votes(said, truth))
    found = search.outcome(QUIET, RICH)
    assert found.accuracy == pytest.approx(0.75, abs=1e-3)
    assert found.gain == pytest.approx(0.25, abs=1e-3), "half of the ill are found, and half are by chance"
    silent = searching(votes(np.zeros_like(truth), truth))
    assert silent.outcome(QUIET, RICH).gain == pytest.approx(0.0)


def test_several_labels_are_held_against_guessing() -> None:
    floor = Floor.of(assume_labels(4, 20, 0.9, 1.5).thin(50))
    assert floor.value == 0.5
    assert "guessing each label" in floor.words


def test_assumed_votes_tell_no_class_to_be_frequent() -> None:
    sample = assume_classes(4, 20, 0.9)
    floor = SearchOptions(search=True, teacher_accuracy=0.9).floor(sample)
    assert floor.value == 0.25
    assert floor.words == "guessing is right on 25.0%"
    assert SearchOptions(search=True).floor(sample).value > 0.25


def test_few_labels_are_advised_against_and_others_told_with_their_gain() -> None:
    truth = few_ill()
    search = searching(votes(truth, truth))
    few = search.outcome(QUIET, BUDGET.choices(1.0)[10])
    told = tell_advice(few, search.floor, ["ostraka", "advise"])
    assert "0 labels teach nothing; ask for sums" in told
    assert told.endswith("ostraka advise")
    many = search.outcome(GnMax(sigma=3.0), RICH)
    assert f"right {100 * (many.gain or 0):.1f} points more often" in tell_advice(many, search.floor, ["x"])
