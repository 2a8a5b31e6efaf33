"""`ostraka query status` and `ostraka party status` against real servers, and without any."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import ostraka.client.cli.query
import ostraka.services.cli
from ostraka.client.run.site_status import query_status
from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.deploy.whole import BATCH, PARTIES, QUERIES, Whole, build


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    made = build(tmp_path_factory.mktemp("built"))
    (made.folder("athens") / "more.toml").write_text(
        "\n[policy]\nepsilon_cap = 50.0\ndelta = 1e-5\nqueries_per_day = 100\n"
    )
    return made


@pytest.fixture(scope="module")
def served(built: Whole, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Whole]:
    """Yield the federation as it serves, after a run that labelled the pool."""
    whole = built.copied(tmp_path_factory.mktemp("served"))
    with whole.guardian(), whole.parties():
        whole.label(whole.root / "run")
        yield whole


@pytest.fixture
def whole(built: Whole, tmp_path: Path) -> Whole:
    """Return the federation before anybody serves."""
    return built.copied(tmp_path)


def query(whole: Whole, *options: object) -> Result:
    arguments = ["status", "--site", str(whole.folder("q")), *map(str, options)]
    return CliRunner().invoke(ostraka.client.cli.query.app, arguments)


def party(whole: Whole, *options: object) -> Result:
    arguments = ["status", "--site", str(whole.folder("athens")), *map(str, options)]
    return CliRunner().invoke(ostraka.services.cli.app, arguments)


def told(result: Result) -> Any:
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def test_a_querying_site_sees_who_answers_its_sessions_and_its_run(served: Whole) -> None:
    found = told(query(served, "--run", served.root / "run", "--json", "-"))
    assert found["certificates"]["identity"] == "ostraka://attica/q/query"
    assert found["certificates"]["days_left"] > 80
    assert [server["problem"] for server in (*found["guardians"], *found["parties"])] == [None] * 3
    assert [server["site"] for server in found["parties"]] == list(PARTIES)
    (session,) = found["sessions"]
    assert (session["state"], session["asked"]) == ("closed", QUERIES)
    assert found["queries_left"] is None
    (run,) = found["runs"]
    assert (run["state"], run["settled"], run["batches"]["released"]) == ("done", QUERIES, QUERIES // BATCH)
    assert run["session_id"] == session["session_id"]


def test_a_querying_site_reads_tables(served: Whole) -> None:
    shown = query(served, "--run", served.root / "run")
    assert shown.exit_code == 0
    for word in ("Own sessions", "athens", "sparta", "12 of 12 queries settled", "retrain"):
        assert word in shown.stdout


def test_a_party_sees_its_teachers_budget_and_answers_while_it_serves(served: Whole) -> None:
    found = told(party(served, "--json", "-"))
    assert (found["hosted"]["teachers"], found["hosted"]["records"]) == (3, 200)
    assert (found["state"], found["units"][0]["epsilon"]) == ("active", 100.0)
    assert found["journal"]["batches"] == 2
    assert found["journal"]["asked_in_day"] == {"ostraka://attica/q/query": QUERIES}
    assert [batch["queries"] for batch in found["journal"]["newest"]] == [6, 6]
    assert found["journal"]["newest"][0]["batch_id"] == 2
    assert 0 < found["cap_used"] < 1
    assert found["journal"]["head"][0] > 0
    shown = party(served).stdout
    spent = found["units"][0]["epsilon_worst_case"]
    assert "Newest batches" in shown
    assert f"{spent:.4g} of 100" in shown
    assert "By this party's own count" not in shown


@pytest.mark.heavy
def test_both_say_what_is_here_while_the_guardian_is_away(whole: Whole, tmp_path: Path) -> None:
    with whole.guardian(), whole.parties():
        whole.label(tmp_path / "run")
    asked, answered = told(query(whole, "--json", "-")), told(party(whole, "--json", "-"))
    assert asked["unknown"]["code"] == answered["unknown"]["code"] == "server.unreachable"
    assert asked["sessions"] == answered["units"] == []
    assert answered["journal"]["batches"] >= 2
    assert "sessions is unknown: [server.unreachable]" in " ".join(query(whole).stdout.split())
    shown = party(whole).stdout
    assert "budgets is unknown: [server.unreachable]" in " ".join(shown.split())
    assert "By this party's own count, with every query counted as answered" in " ".join(shown.split())


@pytest.mark.heavy
def test_a_run_that_met_a_limit_says_so(served: Whole, tmp_path: Path) -> None:
    asked = admin_pb2.ApplyPolicyRequest(toml="max_queries_per_day = 20\n", reason="a test")
    admin_call(served.folder("ops"), lambda stub: stub.ApplyPolicy(asked))
    served.label(tmp_path / "runs" / "one")
    found = told(query(served, "--run", tmp_path / "runs", "--json", "-"))
    assert found["queries_left"] == 0
    (run,) = found["runs"]
    assert (run["state"], run["settled"], run["stopped"]["code"]) == ("stopped", 8, "policy.daily_limit")
    assert run["next"] == run["stopped"]["message"]


def test_certificates_that_nobody_accepts_are_told(whole: Whole) -> None:
    late = ManualClock(SystemClock().now() + 10 * 365 * 24 * 3600)
    found = query_status(whole.folder("q"), clock=late)
    assert found.certificates.days_left < 0
    assert found.certificates.problem is not None
    assert found.certificates.problem.code == "identity.expired"


def test_a_party_without_teachers_is_told_what_is_missing(whole: Whole) -> None:
    shutil.rmtree(whole.folder("athens") / "teachers")
    found = told(party(whole, "--json", "-"))
    assert found["hosted"] is None
    assert found["no_teachers"]["code"] == "model.invalid"
    assert "ostraka party train" in found["no_teachers"]["message"]
    assert "[model.invalid]" in party(whole).stdout


def test_a_folder_without_a_run_is_refused(whole: Whole, tmp_path: Path) -> None:
    refused = query(whole, "--run", tmp_path).exception
    assert isinstance(refused, OstrakaError)
    assert refused.code == "data.missing"
