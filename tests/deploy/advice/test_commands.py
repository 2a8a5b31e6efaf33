"""Commands of a recommendation."""

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from ostraka.deploy.advice.commands import (
    Files,
    epsilon_word,
    simulate_command,
    site_commands,
    train_command,
)
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.simulation.settings_file import load_settings
from tests.deploy.advice.test_recommendation import AMOUNTS, way

OPTIONS = AdviceOptions(parties=5, epsilon=2)
VOTES = way("votes", 0.85, settings={"teachers": 24, "total": 120, "mechanism": "gnmax:sigma=40"})
SUMS = way("sums", 0.85, "bins")


def test_a_model_is_fitted_from_the_files_that_were_named() -> None:
    files = Files("fed/west", "my pool.csv", "own.csv")
    (command,) = site_commands(SUMS, 4.19999, files)
    assert shlex.split(command)[:5] == ["ostraka", "query", "fit", "--site", "fed/west"]
    assert "--pool 'my pool.csv' --labelled own.csv --learner bins --epsilon 4.19 --out runs/fit" in command


def test_who_has_no_own_records_is_told_of_none() -> None:
    (command,) = site_commands(SUMS, 2.0, Files(labelled=None))
    assert "--labelled" not in command


def test_votes_come_with_the_commands_of_both_sides() -> None:
    (label,) = site_commands(VOTES, 2.0)
    assert label.startswith("ostraka query label --site SITE --pool POOL")
    assert label.endswith("--mechanism gnmax:sigma=40")
    (train,) = train_command(VOTES)
    assert train == "ostraka party train --site PARTY --data RECORDS --teachers 24"
    assert train_command(SUMS) == ()


@pytest.mark.parametrize("best", [VOTES, SUMS], ids=["votes", "sums"])
def test_a_simulation_takes_its_command(best: object) -> None:
    command = simulate_command(best, Path("my records.csv"), ["ill"], OPTIONS, AMOUNTS)  # type: ignore[arg-type]
    words = shlex.split(command or "")
    assert words[:2] == ["ostraka", "simulate"]
    given = {name[2:]: value for name, value in zip(words[2::2], words[3::2], strict=True)}
    settings = load_settings(None, given, named=str)
    assert len(settings.sites) == OPTIONS.parties
    assert settings.budgets.epsilon == 2


def test_what_no_simulation_has_is_not_told_as_one() -> None:
    records = Path("records.csv")
    for options in (
        OPTIONS.model_copy(update={"rows_per_party": 10}),
        OPTIONS.model_copy(update={"skew": 0.3}),
        OPTIONS.model_copy(update={"parties": 1}),
        OPTIONS.model_copy(update={"parties": 101}),
    ):
        assert simulate_command(SUMS, records, ["ill"], options, AMOUNTS) is None
    assert simulate_command(SUMS, records, ["ill"], OPTIONS, replace(AMOUNTS, own=0)) is None


def test_no_more_than_an_epsilon_is_asked_for() -> None:
    for epsilon, word in (
        (2.0, "2"),
        (0.123456, "0.123"),
        (0.3, "0.3"),
        (4.9999, "4.99"),
        (671576.2, "671000"),
    ):
        assert float(epsilon_word(epsilon)) <= epsilon
        assert float(epsilon_word(epsilon)) == float(word)
