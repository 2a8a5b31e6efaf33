"""The search finds at least what anybody would guess, and says so honestly."""

from collections.abc import Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident, GnMax, Mechanism
from ostraka.common.planning.candidate import Candidate, fits, propose_order
from ostraka.common.planning.search.allowance import Allowance, NewBudget, Rate, Remainders
from ostraka.common.planning.search.families import Family, families
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.search import Outcome, Search, frontier, largest, no_label, worst_rates
from ostraka.common.planning.search.vote_sample import VoteSample, assume_classes, assume_labels
from ostraka.common.privacy import budget_amount, budget_rdp
from ostraka.deploy.simulation.settings import Settings

BUDGET = NewBudget(3.0, 1e-5)


def searching(sample: VoteSample, least: float = 0.9, queries: int = 1000) -> Search:
    return Search(Forecaster(sample), queries, least, worst_rates(sample.classes))


@pytest.fixture(scope="module")
def search() -> Search:
    return searching(assume_classes(10, 100, 0.8).thin(200), 0.85)


@pytest.fixture(scope="module")
def best(search: Search) -> Mapping[str, tuple[Family, Outcome]]:
    return {
        family.kind: (family, search.best(family, BUDGET.choices(1.0))[1])
        for family in families(search.forecaster.sample)
    }


def of_default(mechanism: Mechanism, search: Search) -> Outcome:
    order = propose_order(Candidate(mechanism, 10), BUDGET.whole, BUDGET.delta)
    allowance = Allowance(budget_rdp(BUDGET.whole, BUDGET.delta, order), order, BUDGET.delta)
    return search.outcome(mechanism, [allowance])


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["gnmax", "confident"])
def test_defaults_are_no_better(
    search: Search, best: Mapping[str, tuple[Family, Outcome]], kind: str
) -> None:
    default = of_default(Settings(mechanism=kind, parties=10, teachers=10).plan_mechanism, search)
    assert search.rank(best[kind][1]) >= search.rank(default)


@pytest.mark.heavy
@pytest.mark.parametrize("kind", ["gnmax", "confident"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_setting_is_much_better(
    search: Search, best: Mapping[str, tuple[Family, Outcome]], kind: str, data: st.DataObject
) -> None:
    family, found = best[kind]
    places = data.draw(st.tuples(*[st.floats(0, 1) for _ in family.axes]))
    choices = BUDGET.choices(1.0)
    choice = choices[data.draw(st.integers(0, len(choices) - 1))]
    other = search.outcome(family.at(places), choice)
    assert not search.good(other) or other.right <= 1.01 * found.right


@pytest.mark.heavy
def test_what_is_found_is_within_the_budget(best: Mapping[str, tuple[Family, Outcome]]) -> None:
    found = best["gnmax"][1]
    cost = Candidate(found.mechanism, 10).cost(found.order)
    whole = budget_amount(budget_rdp(BUDGET.whole, BUDGET.delta, found.order))
    paid = fits(cost, 1, whole)
    assert paid is not None
    assert int(found.asked) == min(paid, 1000)
    assert found.accuracy >= 0.85


@pytest.mark.heavy
def test_the_same_votes_give_the_same_settings() -> None:
    def found() -> list[Mechanism]:
        search = searching(assume_classes(3, 30, 0.8).thin(50), 0.8)
        return [
            search.best(family, BUDGET.choices(1.0))[1].mechanism
            for family in families(search.forecaster.sample)
        ]

    assert found() == found()


@pytest.mark.heavy
def test_a_larger_budget_buys_no_fewer_labels() -> None:
    search = searching(assume_classes(5, 60, 0.8).thin(100), 0.85)
    steps: list[tuple[int, int]] = []
    tried = families(search.forecaster.sample)
    points = frontier(search, tried, BUDGET, lambda done, total: steps.append((done, total)))
    right = [point.outcomes[0].right if point.outcomes else 0.0 for point in points]
    assert right == sorted(right)
    assert [point.epsilon for point in points][-1] == 3.0
    assert steps[-1] == (12, 12)


@pytest.mark.heavy
def test_several_labels_are_searched_with_and_without_checks() -> None:
    sample = assume_labels(4, 40, 0.9, 1.0).thin(60)
    tried = families(sample)
    assert [family.kind for family in tried] == ["binary", "tau", "powerset"] * 2
    search = searching(sample, 0.8, queries=100)
    found = [search.best(family, NewBudget(10.0, 1e-5).choices(1.0))[1] for family in tried]
    assert all(search.good(outcome) for outcome in found)


def test_counts_of_yeses_alone_judge_binary_alone() -> None:
    sample = VoteSample(np.array([[9.0, 1.0]]), 10, np.array([[True, False]]))
    assert {family.kind for family in families(sample)} == {"binary"}
    with pytest.raises(OstrakaError, match="tau is not searched on these votes: choose from binary"):
        families(sample, "tau")


def test_all_who_pay_must_be_able_to() -> None:
    search = searching(assume_classes(3, 30, 0.9).thin(20))
    rich, poor = (Allowance(rdp, 8.0, 1e-5) for rdp in (9.0, 0.9))
    found = [search.outcome(GnMax(sigma=20.0), choice).asked for choice in ([rich], [poor], [rich, poor])]
    assert found[0] > found[1] == found[2]


def test_several_votes_of_a_person_pay_their_square() -> None:
    search = searching(assume_classes(3, 30, 0.9).thin(20))
    one, two = (
        search.outcome(GnMax(sigma=20.0), [Allowance(0.9, 8.0, 1e-5, votes)]).asked for votes in (1.0, 2.0)
    )
    assert one == pytest.approx(4 * two, rel=0.1)


def test_a_query_is_asked_as_long_as_its_worst_case_is_left() -> None:
    rate = Rate(first=1.0, each=0.25)
    assert [rate.queries(rdp) for rdp in (0.99, 1.0, 2.0)] == [0.0, 1.0, 5.0]


def test_refused_queries_are_cheap() -> None:
    search = searching(VoteSample(np.array([[30.0, 0.0], [16.0, 14.0]]), 30, np.array([0, 0])), 0.0, 10**9)
    allowance = [Allowance(1.0, 8.0, 1e-5)]
    strict = search.outcome(Confident(sigma1=30.0, sigma2=10.0, threshold=200.0), allowance)
    lenient = search.outcome(Confident(sigma1=30.0, sigma2=10.0, threshold=1.0), allowance)
    assert strict.asked > 5 * lenient.asked


def test_what_is_left_is_spent_in_shares() -> None:
    purse = Remainders([Allowance(2.0, 8.0, 1e-5), Allowance(1.0, 4.0, 1e-5)])
    assert [[one.rdp for one in choice] for choice in purse.choices(0.5)] == [[1.0, 0.5]]
    assert purse.epsilon(0.5) < purse.epsilon(1.0)


@pytest.mark.heavy
def test_a_budget_for_no_label_names_one_that_is_enough() -> None:
    search = searching(assume_classes(3, 20, 0.9).thin(50), 0.9)
    tried, small = families(search.forecaster.sample), NewBudget(0.05, 1e-5)
    refused = no_label(search, tried, small, "raise --epsilon to that")
    assert refused.code is ErrorCode.BUDGET_TOO_SMALL
    named = float(refused.message.rsplit("and ", 1)[1].split(" does")[0])
    for epsilon, enough in ((named * 1.01, True), (named * 0.95, False)):
        choices = NewBudget(epsilon, 1e-5).choices(1.0)
        assert search.good(search.best(tried[0], choices)[1]) is enough


@pytest.mark.heavy
def test_teachers_that_are_not_good_enough_are_told() -> None:
    search = searching(assume_classes(3, 20, 0.6).thin(50), 0.999)
    refused: OstrakaError = no_label(search, families(search.forecaster.sample, "gnmax"), BUDGET, "")
    assert "No budget gives" in refused.message
    assert "lower --least-accuracy" in refused.message


@settings(deadline=None, max_examples=50)
@given(st.floats(0, 1), st.floats(0, 1))
def test_a_peak_is_found_wherever_it_is(x: float, y: float) -> None:
    place, value = largest(
        lambda at: -((at[0] - x) ** 2) - 3 * (at[1] - y) ** 2 - at[0] * at[1] / 9,
        lambda found: (found,),
        axes=2,
        begin=[],
    )
    assert all(0 <= one <= 1 for one in place)
    assert value >= -x * y / 9 - 1e-3
