"""`ostraka guardian plan --search` as people type it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app as query_app
from ostraka.common.console.cli import ExitStatus
from ostraka.common.console.commands import import_command
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Check, Confident, GnMax, Mechanism, Powerset, Tau
from ostraka.common.mechanism.arguments import read_mechanism
from ostraka.common.planning.search.forecast import Forecaster
from ostraka.common.planning.search.vote_sample import VoteSample, assume_classes, assume_labels
from ostraka.guardian.cli import app
from ostraka.guardian.mechanisms.votes import release_votes
from ostraka.guardian.noise import ExactNoise

ASKED = ("--classes", 3, "--parties", 3, "--teachers", 10, "--epsilon", 5)
ASSUMED = (*ASKED, "--search", "--teacher-accuracy", 0.9)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def found(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json", "-")
    assert result.exit_code == 0, result.output
    figures: dict[str, Any] = json.loads(result.stdout)
    return figures


@pytest.mark.heavy
def test_people_read_the_best_and_the_commands(tmp_path: Path) -> None:
    plot = tmp_path / "frontier.svg"
    result = run(*ASSUMED, "--queries", 100, "--plot", plot)
    assert result.exit_code == 0
    text = " ".join(result.stdout.split())
    for told in ("confident: sigma1", "gnmax: sigma", "ostraka guardian budget set", "must not be used"):
        assert told in text
    last = text.rpartition("Advice: ")[2]
    assert "ostraka advise RECORDS" in last
    assert "must not be used" not in last, "it comes last"
    assert "right labels, expected" in plot.read_text()


@pytest.mark.heavy
def test_json_has_the_frontier_and_the_commands_are_those_of_the_parsers() -> None:
    figures = found(*ASSUMED, "--queries", 100)
    assert figures["best"] == figures["mechanisms"][0]
    right = [point["best"]["right"] if point["best"] else 0.0 for point in figures["frontier"]]
    assert right == sorted(right)
    assert right[-1] == figures["best"]["right"] <= 100
    parameters = figures["best"]["mechanism"]
    budget, label = (shlex.split(command) for command in figures["commands"])
    assert budget[:4] == ["ostraka", "guardian", "budget", "set"]
    assert parsed(app, ["budget", "set"], budget[4:])["order"] == figures["best"]["order"]
    assert label[:3] == ["ostraka", "query", "label"]
    given = parsed(query_app, ["label"], label[3:])
    assert read_mechanism(given["mechanism"]).model_dump() == parameters


def parsed(group: typer.Typer, path: list[str], words: list[str]) -> dict[str, Any]:
    """Parse words as a command of ours does, and run nothing."""
    command: Any = get_command(group)
    for name in path:
        command = import_command(command.commands[name], typer.Context(command))
    params: dict[str, Any] = command.make_context(path[-1], words).params
    return params


@pytest.mark.heavy
def test_one_mechanism_and_one_order_may_be_asked_for() -> None:
    figures = found(*ASSUMED, "--mechanism", "gnmax", "--order", 16)
    assert [one["mechanism"]["kind"] for one in figures["mechanisms"]] == ["gnmax"]
    assert figures["best"]["order"] == 16


@pytest.mark.heavy
@pytest.mark.parametrize("bound", ["worst_case", "theorem6", "exact"])
def test_votes_are_searched_under_the_bound_in_force(tmp_path: Path, bound: str) -> None:
    sample = assume_classes(3, 60, 0.9).thin(60)
    votes = tmp_path / "votes.npz"
    np.savez(votes, votes=sample.counts, labels=sample.truth)
    asked = ("--classes", 3, "--parties", 3, "--epsilon", 3, "--search", "--votes", votes, "--queries", 10**5)
    figures = found(*asked, "--bound", bound, "--mechanism", "gnmax")
    assert (figures["bound"], figures["teachers"]) == (bound, 60)
    assert figures["best"]["accuracy"] >= figures["least_accuracy"]
    worst = found(*asked, "--mechanism", "gnmax") if bound == "theorem6" else figures
    assert figures["best"]["right"] >= worst["best"]["right"]


@pytest.mark.heavy
def test_ballots_of_several_labels_are_searched(tmp_path: Path) -> None:
    sample = assume_labels(3, 30, 0.95, 1.0).thin(40)
    votes = tmp_path / "votes.npz"
    assert sample.ballots is not None
    np.savez(votes, ballots=sample.ballots, labels=sample.truth)
    figures = found("--classes", 3, "--parties", 3, "--epsilon", 10, "--search", "--votes", votes)
    assert {one["mechanism"]["kind"] for one in figures["mechanisms"]} == {"binary", "tau", "powerset"}
    assert figures["best"]["labels"] <= 3 * figures["queries"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (ASKED, ErrorCode.CONFIG_INVALID, "give --mechanism, or find one with --search"),
        ((*ASKED, "--search"), ErrorCode.CONFIG_INVALID, "give public or simulated ones with --votes"),
        ((*ASKED, "--teacher-accuracy", 0.9), ErrorCode.CONFIG_INVALID, "works only with --search"),
        ((*ASKED, "--mechanism", "gnmax", "--bound", "exact"), ErrorCode.CONFIG_INVALID, "is for a search"),
        ((*ASSUMED, "--mechanism", "gnmax:sigma=4"), ErrorCode.CONFIG_INVALID, "gnmax without it"),
        ((*ASSUMED, "--bound", "exact"), ErrorCode.CONFIG_INVALID, "give them with --votes"),
        ((*ASSUMED, "--mechanism", "lnmax"), ErrorCode.PLAN_INVALID, "choose from gnmax, confident"),
        ((*ASSUMED, "--mechanism", "nomax"), ErrorCode.PLAN_INVALID, "choose from gnmax, confident"),
        ((*ASSUMED, "--plot", "plan.pdf"), ErrorCode.CONFIG_INVALID, "not a picture"),
        ((*ASSUMED, "--epsilon", 0), ErrorCode.CONFIG_INVALID, "not above 0"),
    ],
)
def test_what_cannot_be_searched_is_refused(words: tuple[object, ...], code: ErrorCode, told: str) -> None:
    error = run(*words).exception
    assert isinstance(error, OstrakaError)
    assert (error.code, told in error.message) == (code, True), error.message


@pytest.mark.heavy
def test_a_budget_that_gives_no_label_says_what_would() -> None:
    words = [*map(str, ASSUMED), "--epsilon", "0.05"]
    command = [sys.executable, "-m", "ostraka.deploy.cli", "guardian", "plan", *words]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == ExitStatus.REFUSED
    assert "budget.too_small" in ended.stderr
    enough = " ".join(ended.stderr.split()).rsplit("and ", 1)[1].split(" does")[0]
    assert found(*ASSUMED, "--epsilon", float(enough) * 1.01)["best"]["right"] > 0


CHECK = Check(sigma=9.0, threshold=20.0)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "mechanism",
    [
        GnMax(sigma=6.0),
        Confident(sigma1=9.0, sigma2=6.0, threshold=18.0),
        Binary(sigma=6.0),
        Binary(sigma=6.0, check=CHECK),
        Tau(sigma=5.0, tau=1.0, check=CHECK),
        Powerset(sigma=4.0, max_positives=2),
        Powerset(sigma=4.0, check=Check(sigma=9.0, threshold=10.0)),
    ],
    ids=str,
)
def test_forecasts_are_what_the_guardians_noise_gives(mechanism: Mechanism) -> None:
    """Each label's share over 30 releases of 200 queries, within six deviations of both samples."""
    sample = assume_labels(4, 30, 0.9, 1.5) if mechanism.multi_label else assume_classes(4, 30, 0.8)
    sample = sample.thin(200)
    forecaster = Forecaster(sample)
    forecast = forecaster.forecast(mechanism)
    given, right = zip(*[released(mechanism, forecaster, sample) for _ in range(30)], strict=True)
    answers = 200 * forecast.right.shape[1]
    slack = 6.2 / 2 * np.sqrt(1 / (30 * 200) + 1 / (8 * 200) * (mechanism.kind == "powerset"))
    assert abs(forecast.answers * 200 - np.mean(given)) <= slack * answers
    assert abs(forecast.right_labels * 200 - np.mean(right)) <= slack * answers


def released(mechanism: Mechanism, forecaster: Forecaster, sample: VoteSample) -> tuple[int, int]:
    answers = release_votes(
        mechanism,
        forecaster.ballots(mechanism),
        ExactNoise(),
        classes=sample.classes,
        teachers=sample.teachers,
    )
    truth = sample.truth if sample.multi_label else sample.truth[:, None]
    right = answers.answered & (answers.labels == truth)
    return int(answers.answered.sum()), int(right.sum())
