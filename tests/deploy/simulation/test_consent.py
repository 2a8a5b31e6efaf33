from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.common.datasets.dataset import from_arrays
from ostraka.common.errors import OstrakaError
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.schemes import level_epsilons, with_consent
from ostraka.deploy.simulation.settings_file import load_settings
from ostraka.deploy.simulation.site_tables import tables

SHARES = {"low": 0.3, "medium": 0.5, "high": 0.2}


def test_shares_are_given_as_text() -> None:
    settings = load_settings(None, {"consent": "low=0.3,medium=0.5,high=0.2", "variant": "weighting"})
    assert settings.budgets.consent == SHARES
    assert settings.budgets.level_epsilons == {"low": 2.5, "medium": 5.0, "high": 10.0}


def test_levels_may_be_named_with_their_epsilons() -> None:
    settings = load_settings(None, {"consent": "a=0.5,b=0.5", "levels": "a=1,b=2"})
    assert settings.budgets.level_epsilons == {"a": 1.0, "b": 2.0}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"consent": "low=0.3,high=0.3"}, "add up to 1"),
        ({"consent": "low=-0.3,high=1.3"}, "add up to 1"),
        ({"consent": "low"}, "low=0.3,high=0.7"),
        ({"consent": "low=much"}, "could not convert"),
        ({"consent": "a=1"}, "consent level 'a' has no epsilon"),
        ({"variant": "weighting"}, "need budgets that differ: give consent"),
        ({"variant": "upsampling"}, "need consent"),
        ({"consent": "low=0.5,low=0.5"}, "name each once"),
        ({"levels": "low=1"}, "need consent"),
        ({"consent": "low=1", "mechanism": "noise_cluster"}, "knows no consent levels"),
    ],
)
def test_what_does_not_fit_is_told(given: dict[str, str], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as caught:
        load_settings(None, given)
    assert caught.value.code == "config.invalid"


def test_parties_may_have_budgets_of_their_own() -> None:
    settings = load_settings(None, {"epsilons": "party-1=5,party-3=20", "variant": "weighting"})
    assert [settings.budgets.epsilon_of(site) for site in settings.sites[:3]] == [
        5.0,
        settings.budgets.epsilon,
        20.0,
    ]
    assert (settings.teachers_variant, plan_options(settings).variant) == ("none", "weighting")
    assert plan_options(settings).align
    assert "consent" not in tables("party", settings)["training"]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"epsilons": "hospital-a=5"}, "no party 'hospital-a', only party-1, party-2"),
        ({"epsilons": "party-1=0"}, "'party-1' needs a finite number above 0, not 0"),
        ({"epsilons": "party-1=inf"}, "finite"),
        ({"epsilons": "party-1"}, "give names and numbers"),
        ({"epsilons": "party-1=5,party-1=6"}, "name each once"),
        ({"epsilons": "party-1=5", "consent": "low=1"}, "without consent levels"),
        ({"epsilons": "party-1=5", "variant": "upsampling"}, "variant upsampling"),
    ],
)
def test_budgets_of_parties_that_do_not_fit_are_told(given: dict[str, str], told: str) -> None:
    with pytest.raises(OstrakaError, match=told) as caught:
        load_settings(None, given)
    assert caught.value.code == "config.invalid"
    assert "\n" not in caught.value.message


def test_a_level_is_a_part_of_epsilon_by_its_name() -> None:
    assert level_epsilons({"high": 0.5, "low": 0.5}, None, 8.0) == {"high": 8.0, "low": 2.0}


@given(records=st.integers(1, 300), seed=st.integers(0, 99))
def test_shares_are_kept_to_within_a_record(records: int, seed: int) -> None:
    data = from_arrays(np.arange(records, dtype=float)[:, None])
    levels = with_consent(data, SHARES, np.random.default_rng(seed)).consent
    assert levels is not None
    assert len(levels) == records
    counted = Counter(levels)
    assert all(abs(counted[level] - share * records) <= 1 for level, share in SHARES.items())
