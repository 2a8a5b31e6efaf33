"""A fit over real parties and a real guardian, as people type it, and where it is interrupted."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.client.fitting.beside_votes import EPSILONS
from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import FittingRun, fit
from ostraka.client.students.files import load_student
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.federation import QUERY
from tests.e2e.sites import SOON, Sites
from tests.e2e.test_sums import start_with_sums

EPSILON = 1000.0
"""So much that sums have hardly any noise: the model must be right."""
QUIETLY = FittingRun(retry=SOON)


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


class KilledError(Exception):
    """The process died here."""


@pytest.mark.heavy
def test_a_model_is_learned_paid_for_once_and_told(sites: Sites, tmp_path: Path) -> None:
    start_with_sums(sites)
    site = sites.folder / QUERY
    run = tmp_path / "run"
    own = ("--pool", site / "pool.npz", "--labelled", site / "labelled.npz", "--out", run)
    command = ("fit", "--site", site, *own, "--epsilon", EPSILON, "--label-pool", "--json", "-")
    made = invoke(*command)
    assert made.exit_code == 0, made.stderr
    figures = json.loads(made.stdout)
    assert "Learner moments: 1 sum over" in made.stderr
    assert "about your own records: the mean of your pool" in made.stderr
    charged = sites.charged()
    for cost in figures["costs"]:
        assert charged[cost["site"]] == pytest.approx(cost["charged_epsilon"]), (
            "what it was told is what it paid"
        )
        assert 0.99 * EPSILON < cost["epsilon"] <= EPSILON
    assert figures["records"] == figures["declared_records"] == sum(map(len, sites.split.shards))
    assert figures["accuracy"]["gain"]["over_majority"]["low"] > 0

    model = load_student(run / "model.skops")
    X = sites.task.prepare(sites.split.test.X)
    assert float(np.mean(model.predict(X) == sites.split.test.labels())) > 0.85
    rows = (run / "labels.csv").read_text().splitlines()
    assert rows[0] == "id,label,probability,status"
    said = model.predict(sites.task.prepare(sites.split.pool.X))
    assert [row.split(",")[1] for row in rows[1:]] == [sites.task.classes[label] for label in said]

    assert invoke(*command).exit_code == 0
    assert sites.charged() == charged, "a fit that is done asks nobody"
    other = invoke(*command, "--epsilon", 2 * EPSILON)
    assert isinstance(other.exception, OstrakaError)
    assert other.exception.code is ErrorCode.RUN_MISMATCH
    assert "other epsilon" in other.exception.message

    page = tmp_path / "page.html"
    reported = invoke("report", "--run", run, "--html", page)
    assert "1 of 1 sums were released" in reported.stderr or "1 of 1 sums were released" in reported.output
    assert "How good the model is" in page.read_text()
    status = invoke("status", "--site", site, "--run", run, "--json", "-")
    assert json.loads(status.stdout)["runs"][0]["state"] == "done"


@pytest.mark.heavy
def test_a_fit_that_was_killed_goes_on_without_paying_again(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start_with_sums(sites)
    site = sites.folder / QUERY
    options = FitOptions(learner="gradients", epsilon=EPSILON, quorum=2)
    known = (site, site / "pool.npz", site / "labelled.npz", options)
    whole = SumStore.keep_sum

    def kill_before_third(store: SumStore, released: object) -> object:
        if len(store.state.kept) == 2:
            raise KilledError
        return whole(store, released)  # type: ignore[arg-type]

    monkeypatch.setattr(SumStore, "keep_sum", kill_before_third)
    with pytest.raises(KilledError):
        fit(*known, tmp_path / "run", run=QUIETLY)
    monkeypatch.undo()
    released = [sum_.read_bytes() for sum_ in sorted((tmp_path / "run").glob("sum-*.i8"))]
    result = fit(*known, tmp_path / "run", run=QUIETLY)
    assert result.state.is_done
    after = [sum_.read_bytes() for sum_ in sorted((tmp_path / "run").glob("sum-*.i8"))]
    assert len(after) == result.state.rounds == 50, "the third sum was fetched, and not asked for again"
    assert set(released) <= set(after)
    for cost in result.state.costs:
        assert sites.charged()[cost.site] == pytest.approx(cost.charged_epsilon)


@pytest.mark.heavy
def test_a_fit_goes_on_without_a_party_that_is_lost(sites: Sites, tmp_path: Path) -> None:
    start_with_sums(sites)
    site = sites.folder / QUERY

    def lose(done: int, total: int) -> None:
        if done == 2:
            sites.kill("party-3")

    options = FitOptions(learner="gradients", epsilon=EPSILON, quorum=2)
    lossy = FittingRun(on_progress=lose, retry=SOON)
    result = fit(site, site / "pool.npz", site / "labelled.npz", options, tmp_path / "run", run=lossy)
    report = result.state.report
    assert report is not None
    assert report.rounds == report.rounds_planned
    assert report.parties == ("party-1", "party-2")
    assert list(result.state.left_out) == ["party-3"]


@pytest.mark.heavy
def test_a_policy_from_before_refuses_a_fit_and_says_what_to_ask_for(sites: Sites, tmp_path: Path) -> None:
    sites.start()
    site = sites.folder / QUERY
    with pytest.raises(OstrakaError) as refused:
        fit(site, site / "pool.npz", None, FitOptions(epsilon=EPSILON), tmp_path / "run", run=QUIETLY)
    assert refused.value.code is ErrorCode.POLICY_REFUSED
    assert "mechanisms" in refused.value.message
    assert sites.charged() == dict.fromkeys(sites.charged(), 0.0)


def search(site: Path) -> Result:
    """Search for a plan of votes of which four in five are right."""
    pool = ("--pool", site / "pool.npz", "--batch-size", 10)
    return invoke("plan", "--site", site, *pool, "--search", "--teacher-accuracy", 0.8, "--json", "-")


@pytest.mark.heavy
def test_a_search_shows_sums_beside_votes_and_what_they_would_cost(sites: Sites) -> None:
    start_with_sums(sites)
    site = sites.folder / QUERY
    found = search(site)
    assert found.exit_code == 0, found.stderr
    sums = json.loads(found.stdout)["sums"]
    assert sums["problem"] == ""
    assert [one["epsilon"] for one in sums["offers"]] == list(EPSILONS)
    shares = [one["share"] for one in sums["offers"]]
    assert shares == sorted(shares)
    assert all(one["fits"] >= one["sums"] for one in sums["offers"]), "budgets of a million pay for each"
    assert "For comparison: a model of sums over all records" in found.stderr
    assert set(sites.charged().values()) == {0.0}


@pytest.mark.heavy
def test_a_search_says_why_there_are_no_sums(sites: Sites) -> None:
    sites.start()
    site = sites.folder / QUERY
    found = search(site)
    assert found.exit_code == 0, found.stderr
    sums = json.loads(found.stdout)["sums"]
    assert sums["offers"] == []
    assert "policy" in sums["problem"]
    assert "No model of sums is possible for comparison: The guardian's policy" in found.stderr
