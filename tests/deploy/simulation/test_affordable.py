"""Budgets that admit no query are refused before anything is trained."""

import re
from typing import Any

import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Confident
from ostraka.deploy.simulation import affordable
from ostraka.deploy.simulation.affordable import check_affordable, tell_affordable
from ostraka.deploy.simulation.settings import Settings

CLASSES = 10


def refusal(settings: Settings) -> str:
    with pytest.raises(OstrakaError) as refused:
        check_affordable(settings, CLASSES)
    assert refused.value.code is ErrorCode.BUDGET_TOO_SMALL
    return refused.value.message


@pytest.mark.parametrize(
    ("mechanism", "noise"),
    [
        ("confident", "sigma1, sigma2 of --mechanism"),
        ("gnmax", "sigma of --mechanism"),
        pytest.param("lnmax", "gamma of --mechanism", marks=pytest.mark.heavy),
        ("tau", "sigma of --mechanism"),
    ],
)
def test_the_epsilon_that_is_named_is_the_least_that_pays(mechanism: str, noise: str) -> None:
    told = refusal(Settings(mechanism=mechanism, epsilon=0.02))
    assert noise in told
    (needed,) = map(float, re.findall(r"--epsilon to ([\d.]+) or more", told))
    check_affordable(Settings(mechanism=mechanism, epsilon=needed), CLASSES)
    refusal(Settings(mechanism=mechanism, epsilon=needed - 0.02))


def test_a_release_of_all_clusters_is_paid_at_once() -> None:
    settings = Settings(mechanism="noise_cluster", clusters=40, epsilon=0.02)
    assert refusal(settings).startswith("A release of 40 answers costs epsilon")


def test_the_smallest_budget_of_any_party_must_pay() -> None:
    told = refusal(Settings(epsilons={"party-1": 0.02}))
    assert "a party's budget is 0.02: raise --epsilons to" in told
    check_affordable(Settings(epsilons={"party-1": 0.02}, variant="weighting"), CLASSES)


def test_what_depends_on_votes_is_left_to_the_guardian() -> None:
    check_affordable(Settings(epsilon=0.02, enforce="data_dependent"), CLASSES)


def test_an_epsilon_is_looked_for_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(mechanism="gnmax", epsilon=0.02)
    (needed,) = map(float, re.findall(r"--epsilon to ([\d.]+) or more", refusal(settings)))
    monkeypatch.setattr(affordable, "LARGEST", needed + 0.02)
    assert f"costs epsilon {needed:g} at these settings" in refusal(settings)
    monkeypatch.setattr(affordable, "LARGEST", needed - 0.02)
    assert f"costs more than epsilon {needed - 0.02:g} at these settings" in refusal(settings)


def paid(settings: Settings) -> int:
    (told,) = tell_affordable(settings, 16)
    return int(re.findall(r"pays for (\d+) answers at worst", told)[0])


def test_more_teachers_get_more_noise_and_more_labels() -> None:
    few, many = (
        Settings(parties=4, teachers=teachers, queries=1000, epsilon=3, enforce="worst_case")
        for teachers in (12, 50)
    )
    assert many.plan_mechanism == Confident(sigma1=40.0, sigma2=20.0, threshold=100.0)
    assert few.plan_mechanism == Confident(sigma1=10.0, sigma2=5.0, threshold=24.0)
    assert paid(many) > 100 > 10 > paid(few) > 0


def test_another_choice_is_told_where_not_all_are_paid_for() -> None:
    settings = Settings(parties=4, teachers=50, queries=1000, epsilon=3, enforce="worst_case")
    (told,) = tell_affordable(settings, 16)
    other = "confident:sigma1=80,sigma2=40,threshold=100"
    assert f"with --mechanism {other}, whose labels are more often wrong, for " in told
    (more,) = map(int, re.findall(r"wrong, for (\d+)\.", told))
    assert more == paid(Settings(**{**settings.model_dump(), "mechanism": other})) > 2 * paid(settings)


@pytest.mark.parametrize("changes", [{"epsilon": 10.0, "queries": 50}, {"enforce": "data_dependent"}])
def test_nothing_is_told_where_all_are_paid_for_or_votes_decide(changes: dict[str, Any]) -> None:
    assert list(tell_affordable(Settings(**{"enforce": "worst_case"} | changes), 10)) == []
