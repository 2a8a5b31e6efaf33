"""`ostraka guardian plan` as people type it."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy.gaussian import gaussian_epsilon
from ostraka.guardian.cli import app

CONFIDENT = (
    *("--mechanism", "confident:sigma1=200,sigma2=40,threshold=300"),
    *("--classes", 10, "--parties", 10, "--epsilon", 3),
)
MNIST = Path(__file__).parents[4] / "shared" / "data" / "votes" / "mnist_250_teachers_counts.npy"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["plan", *map(str, arguments)])


def refusal(result: Result) -> OstrakaError:
    assert isinstance(result.exception, OstrakaError)
    return result.exception


def test_people_read_order_costs_and_what_fits() -> None:
    result = run(*CONFIDENT)
    assert result.exit_code == 0
    for told in ("Filter renyi 7.5", "budget set --epsilon 3", "541", "28,179", "gnmax 552"):
        assert told in result.stdout


def test_a_filter_may_be_asked_about_and_is_in_the_command() -> None:
    told = run(*CONFIDENT, "--filter", "gaussian").stdout
    assert "figures are for gaussian" in told
    assert "budget set --epsilon 3 --delta 1e-05 --filter gaussian" in told
    assert "Filter renyi 7.5 pays for the most" in told


def test_json_has_all_figures_and_a_plot_is_drawn(tmp_path: Path) -> None:
    plot = tmp_path / "plan.svg"
    result = run(*CONFIDENT, "--teachers", 25, "--plot", plot, "--json", "-")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert figures["budget"]["order"] == 7.5
    assert figures["worst_case"]["fits_all_answered"] == 541
    assert figures["others_fit"]["gnmax"] == 552
    assert (figures["parties"], figures["teachers"], figures["expected"]) == (10, 250, None)
    text = plot.read_text()
    for line in ("confident, worst case", "confident, no query passes", "gnmax, worst case", "budget 3"):
        assert line in text


def test_several_votes_of_a_person_cost_their_square() -> None:
    words = ("--mechanism", "gnmax:sigma=40", "--classes", 10, "--parties", 3, "--epsilon", 3)
    one, two = (
        json.loads(run(*words, "--max-votes-per-person", votes, "--json", "-").stdout) for votes in (1, 2)
    )
    fits = [each["worst_case"]["fits_all_answered"] for each in (one, two)]
    assert fits[1] == pytest.approx(fits[0] / 4, rel=0.05)


SUMS = ("--parties", 3, "--epsilon", 4, "--queries", 50)


def test_sums_are_planned_by_epsilon(tmp_path: Path) -> None:
    plot = tmp_path / "plan.svg"
    words = ("--mechanism", "moments:columns=65,codes=10,sigma=1,gram_sigma=1.5", *SUMS)
    planned = json.loads(run(*words, "--plot", plot, "--json", "-").stdout)
    rows = planned["by_epsilon"]
    assert [row["epsilon"] for row in rows] == [0.5, 1, 2, 4]
    for row in rows:
        assert row["gram_sigma"] == pytest.approx(1.5 * row["sigma"])
        rho = 50 * (4 / row["sigma"] ** 2 + 2 / row["gram_sigma"] ** 2) / 2
        assert gaussian_epsilon(rho, 1e-5) == pytest.approx(row["epsilon"], rel=1e-2)
        assert row["epsilon_by_filter"] <= row["epsilon"]
        assert row["rounds_that_fit"] == pytest.approx(50 / row["share_of_budget"], abs=1)
    assert rows[-1]["share_of_budget"] == pytest.approx(1, abs=1e-6)
    assert rows[-1]["rounds_that_fit"] == 50
    assert "epsilon 4: sigma" in plot.read_text()
    said = run(*words).stdout
    for told in ("50 sums by moments, 2,795 values each", "--filter gaussian", "for ever"):
        assert told in said


def test_noise_of_sums_need_not_be_given_and_persons_need_more() -> None:
    one, three = (
        json.loads(
            run(
                *("--mechanism", "gradients:parameters=650", *SUMS, "--filter", "renyi"),
                *("--max-votes-per-person", records, "--json", "-"),
            ).stdout
        )
        for records in (1, 3)
    )
    sigmas = [plan["by_epsilon"][-1]["sigma"] for plan in (one, three)]
    assert sigmas[1] == pytest.approx(3 * sigmas[0], rel=1e-3)
    # A Renyi filter adds up more than the exact conversion of a Gaussian.
    assert one["by_epsilon"][-1]["epsilon_by_filter"] > 4
    assert one["by_epsilon"][-1]["rounds_that_fit"] < 50


@pytest.mark.parametrize("mechanism", ["boost:bins=8,outputs=1", "bins:columns=9,codes=2"])
def test_every_kind_of_sum_is_planned(mechanism: str) -> None:
    assert run("--mechanism", mechanism, *SUMS).exit_code == 0


@pytest.mark.heavy
def test_simulated_votes_say_what_to_expect(tmp_path: Path) -> None:
    votes = tmp_path / "votes.npy"
    np.save(votes, np.tile([28, 2, 0], (50, 1)))
    words = ("--mechanism", "gnmax:sigma=5", "--classes", 3, "--parties", 3, "--epsilon", 5)
    result = run(*words, "--teachers", 10, "--votes", votes)
    assert result.exit_code == 0
    for told in ("50 simulated queries, 100.0% answered", "theorem6", "exact", "only one direction"):
        assert told in result.stdout


@pytest.mark.heavy
@pytest.mark.skipif(
    not MNIST.exists(), reason="the published votes lie in ../shared/data beside the checkout"
)
def test_the_published_votes() -> None:
    figures = json.loads(run(*CONFIDENT, "--votes", MNIST, "--queries", 640, "--json", "-").stdout)
    expected = figures["expected"]
    assert figures["teachers"] == 250
    assert 0.1 < expected["answered"] < 0.5
    worst, theorem6, exact = (
        expected["bounds"][bound]["epsilon"] for bound in ("worst_case", "theorem6", "exact")
    )
    assert exact < theorem6 < worst < figures["worst_case"]["epsilon_all_answered"]


@pytest.mark.parametrize(
    ("more", "code", "told"),
    [
        (("--epsilon", 0), ErrorCode.CONFIG_INVALID, "epsilon 0.0 is not above 0"),
        (("--delta", 1), ErrorCode.CONFIG_INVALID, "delta 1.0"),
        (("--epsilon", 1e-9, "--delta", 1e-12), ErrorCode.BUDGET_TOO_SMALL, "epsilon"),
        (("--mechanism", "gnmax:sigma=4,tau=1"), ErrorCode.PLAN_INVALID, "there is no tau"),
        (("--filter", "gaussian", "--order", 8), ErrorCode.CONFIG_INVALID, "has no order"),
        (("--plot", "plan.pdf"), ErrorCode.CONFIG_INVALID, "not a picture"),
        (("--votes", "none.npy"), ErrorCode.DATA_MISSING, "none.npy"),
        (("--mechanism", "statistics:cells=9"), ErrorCode.PLAN_INVALID, "give columns"),
        (
            ("--mechanism", "gradients:parameters=9", "--votes", "none.npy"),
            ErrorCode.CONFIG_INVALID,
            "are of votes",
        ),
    ],
)
def test_what_makes_no_plan_is_refused(more: tuple[object, ...], code: ErrorCode, told: str) -> None:
    error = refusal(run(*CONFIDENT, *more))
    assert (error.code, told in error.message) == (code, True)


def test_votes_need_classes() -> None:
    error = refusal(run("--mechanism", "gnmax:sigma=5", "--parties", 3, "--epsilon", 3))
    assert (error.code, "give --classes" in error.message) == (ErrorCode.CONFIG_INVALID, True)


def test_a_task_with_too_many_label_sets_is_refused() -> None:
    words = ("--mechanism", "powerset:sigma=5", "--classes", 40, "--parties", 3, "--epsilon", 5)
    error = refusal(run(*words))
    assert (error.code, "more than the 65536 label sets" in error.message) == (ErrorCode.PLAN_INVALID, True)
    assert run(*words, "--mechanism", "powerset:sigma=5,max_positives=2").exit_code == 0
