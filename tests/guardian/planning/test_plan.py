"""What a plan says in the worst case, and what it expects of simulated votes."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.mechanism import (
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
    Recipe,
    Tau,
)
from ostraka.common.planning.candidate import Candidate, propose_order
from ostraka.common.privacy import ORDERS, epsilon
from ostraka.common.privacy.gaussian import GAUSSIAN
from ostraka.guardian.noise import ExactNoise
from ostraka.guardian.planning.plan import Limit, Planned, alternatives, plan
from ostraka.guardian.planning.votes_file import Votes

TEACHERS, CLASSES, QUERIES = 40, 4, 60
DELTA = 1e-5
CHECK = Check(sigma=10.0, threshold=30.0)
CONFIDENT = Confident(sigma1=10.0, sigma2=5.0, threshold=25.0)
RECIPE = Recipe(model="m", parameters=9, steps=1, batch_size=1, learning_rate=0.1)


def planned(mechanism: Mechanism, votes: Votes | None = None, **more: Any) -> Planned:
    return plan(Candidate(mechanism, CLASSES), 5.0, DELTA, ExactNoise, votes=votes, **more)


def test_the_worst_case_is_the_ledgers() -> None:
    figures = planned(CONFIDENT, queries=200).figures
    order = figures["budget"]["order"]
    assert order == figures["budget"]["proposed_order"] == propose_order(Candidate(CONFIDENT, 4), 5.0, DELTA)
    worst, cost = figures["worst_case"], CONFIDENT.worst_case(order, classes=CLASSES)
    assert worst["rdp_of_a_check"] == cost.check
    assert worst["rdp_of_an_answer"] == pytest.approx(cost.answer)
    every = epsilon(200 * (cost.check + cost.answer), order, DELTA)
    assert worst["epsilon_all_answered"] == pytest.approx(every)
    assert worst["epsilon_none_answered"] == pytest.approx(epsilon(200 * cost.check, order, DELTA))
    assert 0 < worst["fits_all_answered"] < worst["fits_none_answered"]


def test_the_curve_crosses_the_budget_where_the_queries_end() -> None:
    result = planned(GnMax(sigma=10.0), queries=400)
    curve = result.curves[0]
    fits = result.figures["worst_case"]["fits_all_answered"]
    assert (curve.epsilon <= 5.0).tolist() == (curve.queries <= fits).tolist()


def test_another_order_may_be_asked_about() -> None:
    at_best, at_64 = (planned(GnMax(sigma=10.0), orders=orders).figures for orders in (ORDERS, (64.0,)))
    assert at_64["budget"]["order"] == 64.0
    assert at_64["budget"]["proposed_order"] == at_best["budget"]["order"]
    assert at_64["worst_case"]["fits_all_answered"] < at_best["worst_case"]["fits_all_answered"]


def histograms(rng: np.random.Generator, strength: float) -> NDArray[np.float64]:
    weights = np.full(CLASSES, (1 - strength) / (CLASSES - 1))
    weights[0] = strength
    return rng.multinomial(TEACHERS, weights, size=QUERIES).astype(np.float64)


def ballots(mechanism: Mechanism) -> Votes:
    rng = np.random.default_rng(5)
    scores = np.full((QUERIES, CLASSES), 1 / CLASSES)
    counts: NDArray[np.float64]
    if isinstance(mechanism, Powerset):
        counts = np.zeros((QUERIES, mechanism.width(CLASSES)))
        counts[:, 1], counts[:, 0] = TEACHERS - 3, 3
    elif mechanism.multi_label:
        share = 0.5 if isinstance(mechanism, Tau | L1) else 1.0
        counts = share * rng.binomial(TEACHERS, [0.95, 0.9, 0.05, 0.1], size=(QUERIES, CLASSES)).astype(
            np.float64
        )
    else:
        counts = histograms(rng, 0.9)
    teachers = int(counts.sum()) if isinstance(mechanism, NoiseCluster) else TEACHERS
    return Votes(counts, teachers, scores if isinstance(mechanism, Interactive) else None)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism",
    [
        GnMax(sigma=5.0),
        CONFIDENT,
        Interactive(sigma1=10.0, sigma2=5.0, threshold=20.0, confidence=0.9),
        LnMax(gamma=0.1),
        Binary(sigma=5.0),
        Binary(sigma=5.0, check=CHECK),
        Tau(sigma=5.0, tau=1.0),
        L1(sigma=5.0, tau1=1.0, check=CHECK),
        Powerset(sigma=5.0),
        NoiseCluster(sigma=5.0),
    ],
    ids=str,
)
def test_no_bound_expects_more_than_the_worst_case(mechanism: Mechanism) -> None:
    result = planned(mechanism, ballots(mechanism))
    expected = result.figures["expected"]
    costs = {bound: figures["epsilon"] for bound, figures in expected["bounds"].items()}
    assert costs["exact"] <= costs["worst_case"] * (1 + 1e-9)
    assert costs["theorem6"] <= costs["worst_case"] * (1 + 1e-9)
    assert costs["worst_case"] <= result.figures["worst_case"]["epsilon_all_answered"] * (1 + 1e-6)
    assert expected["queries"] == QUERIES
    assert 0 < expected["answered"] <= 1
    drawn = {curve.name for curve in result.curves}
    assert {"expected, worst case", "expected, theorem6 (one direction)", "expected, exact"} <= drawn
    for curve in result.curves:
        assert (np.diff(curve.queries) > 0).all()
        assert (np.diff(curve.epsilon) >= -1e-12).all()


@pytest.mark.heavy
def test_clear_votes_are_answered_and_expected_to_cost_little() -> None:
    clear = Votes(histograms(np.random.default_rng(1), 1.0), TEACHERS)
    split = Votes(histograms(np.random.default_rng(1), 0.25), TEACHERS)
    mechanism = Confident(sigma1=4.0, sigma2=3.0, threshold=28.0)
    at_clear, at_split = (planned(mechanism, votes).figures["expected"] for votes in (clear, split))
    assert at_clear["answered"] > 0.8 > 0.2 > at_split["answered"]
    bounds = at_clear["bounds"]
    assert bounds["exact"]["epsilon"] < bounds["worst_case"]["epsilon"] / 2
    assert bounds["exact"]["fits"] > 2 * bounds["worst_case"]["fits"]


@pytest.mark.heavy
def test_as_many_of_the_votes_as_are_asked_are_taken() -> None:
    votes = ballots(CONFIDENT)
    assert planned(CONFIDENT, votes, queries=7).figures["expected"]["queries"] == 7


def test_others_with_the_same_noise_are_compared() -> None:
    named = alternatives(Candidate(Binary(sigma=7.0, check=CHECK), 14, 2.0))
    assert set(named) == {"tau 1.9", "tau 1", "powerset"}
    for other in named.values():
        assert other.mechanism.sigmas == (10.0, 7.0)
        assert (other.classes, other.sensitivity) == (14, 2.0)
    assert set(alternatives(Candidate(CONFIDENT, 10))) == {"gnmax", "lnmax"}
    assert "powerset" not in alternatives(Candidate(Binary(sigma=7.0), 40))
    assert not alternatives(Candidate(NoiseCluster(sigma=7.0), 10))


@pytest.mark.parametrize(
    ("mechanism", "gaussian"),
    [(DpTtac(recipe=RECIPE, radius=1.0, sigma=40.0), True), (GnMax(sigma=40.0), False)],
)
def test_the_filter_that_pays_for_more_is_proposed(mechanism: Mechanism, *, gaussian: bool) -> None:
    proposed = propose_order(Candidate(mechanism, CLASSES), 5.0, DELTA)
    assert (proposed == GAUSSIAN) is gaussian
    limits = [Limit(5.0, DELTA, each) for each in (proposed, *ORDERS, GAUSSIAN)]
    paid = [limit.fits(Candidate(mechanism, CLASSES)) or 0 for limit in limits]
    assert paid[0] == max(paid) > 0


def test_a_plan_says_which_filter_it_has() -> None:
    budget = planned(GnMax(sigma=40.0), orders=(GAUSSIAN,)).figures["budget"]
    assert (budget["filter"], budget["order"], budget["proposed_filter"]) == ("gaussian", 0, "renyi")
