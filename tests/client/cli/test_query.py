"""The commands as people type them."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.client.cli.query import app
from ostraka.client.run.asked_before import FOLDER, AskedRecords
from ostraka.common.console.cli import ExitStatus
from ostraka.common.errors import ErrorCode, OstrakaError
from tests.client.driving import right, rows, run_of
from tests.client.federation import Federation
from tests.client.hooks import spending


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def label(federation: Federation, *more: object) -> Result:
    noise = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
    return invoke(
        "label",
        *("--site", federation.site, "--pool", federation.pool, "--out", run_of(federation)),
        *(more if "--mechanism" in more else (*noise, *more)),
    )


def refused(result: Result) -> OstrakaError:
    assert isinstance(result.exception, OstrakaError)
    return result.exception


@pytest.mark.heavy
def test_a_whole_round(federation: Federation, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    own.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    checked = invoke("check", "--site", federation.site, "--data", own, "--json", "-")
    found = json.loads(checked.stdout)
    assert (found["task"], found["records"], found["labelled"], found["repeated"]) == ("insects", 12, 12, 9)

    labelled = label(federation, "--batch-size", 5, "--parties", "a, b", "--json", "-")
    assert labelled.exit_code == 0
    assert json.loads(labelled.stdout)["answered"] == 10
    assert "10 of 10 queries answered" in labelled.stderr
    assert rows(federation) == right(10)

    files = ("--labelled", own, "--run", run_of(federation), "--pool", federation.pool, "--test", own)
    trained = invoke("retrain", "--site", federation.site, *files, "--model", "mlp", "--json", "-")
    assert trained.exit_code == 0
    assert json.loads(trained.stdout)["released"] == 10

    reported = invoke("report", "--run", run_of(federation), "--json", "-")
    assert reported.exit_code == 0
    figures = json.loads(reported.stdout)
    assert [party["site"] for party in figures["parties"]] == ["a", "b"]
    assert figures["student"]["model"] == "mlp"
    assert "mlp, measured on 12 test records" in reported.stderr


def test_gnmax_takes_one_sigma(federation: Federation) -> None:
    assert label(federation, "--mechanism", "gnmax:sigma=40").exit_code == 0
    figures = json.loads(invoke("report", "--run", run_of(federation), "--json", "-").stdout)
    assert figures["mechanism"] == {"kind": "gnmax", "sigma": 40.0}


def test_several_labels_from_the_command_line(several: Federation) -> None:
    checked = ("--mechanism", "binary:sigma=5,check.sigma=10,check.threshold=6")
    result = label(several, *checked, "--json", "-")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["answered"] == 10
    assert (run_of(several) / "labels.csv").read_text().startswith("id,ant,bee,cat,status\n0,1,0,0,answered")
    figures = json.loads(invoke("report", "--run", run_of(several), "--json", "-").stdout)
    assert figures["mechanism"]["check"] == {"sigma": 10.0, "threshold": 6.0}


@pytest.mark.parametrize("model", ["logistic_regression", "tests.client.students.own_models:boosted"])
def test_a_first_student_asks_with_its_own_scores(federation: Federation, tmp_path: Path, model: str) -> None:
    own, first = tmp_path / "own.csv", tmp_path / "first.skops"
    own.write_text("first,second,label\n" + "0,0,ant\n0.5,0.5,bee\n1,1,cat\n" * 4)
    trained = invoke(
        "retrain", "--site", federation.site, "--labelled", own, "--out", first, "--model", model
    )
    assert trained.exit_code == 0
    federation.parties["b"].dissents = True
    noise = ("--mechanism", "interactive:sigma1=10,sigma2=5,threshold=6,confidence=0.3", "--student", first)
    result = label(federation, "--mechanism", "interactive", *noise, "--json", "-")
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["answered"], told["abstained"], told["by_student"]) == (7, 3, 3)
    assert "The student itself labelled 3 of the abstained queries." in result.stderr
    assert invoke("report", "--run", run_of(federation)).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--mechanism", "gnmax"), "give sigma, as in gnmax:sigma=VALUE"),
        (("--mechanism", "gnmax:sigma=4,threshold=2"), "there is no threshold"),
        (("--mechanism", "confident:sigma1=1,sigma2=1"), "give threshold"),
        (("--mechanism", "gnmax:sigma=nan"), "sigma: must be a finite number, is 'nan'"),
    ],
)
def test_parameters_that_make_no_mechanism_are_refused(
    federation: Federation, arguments: tuple[object, ...], told: str
) -> None:
    error = refused(label(federation, *arguments))
    assert (error.code, told in error.message) == (ErrorCode.PLAN_INVALID, True)


def test_a_budget_that_ends_on_the_way_leaves_with_its_own_status(federation: Federation) -> None:
    federation.guardian.on_batch = spending(7)
    result = label(federation, "--json", "-")
    assert result.exit_code == ExitStatus.STOPPED
    assert json.loads(result.stdout)["stopped"]["code"] == "budget.too_small"
    assert "7 of 10 queries answered, 0 abstained, 3 not asked" in result.stderr
    assert "Stopped [budget.too_small]" in result.stderr


def test_a_budget_too_small_for_one_query_is_an_error(federation: Federation) -> None:
    federation.guardian.on_batch = spending(0)
    assert refused(label(federation)).code is ErrorCode.BUDGET_TOO_SMALL
    assert {status for _, _, status in rows(federation)} == {"unasked"}


def test_a_party_left_out_is_named(federation: Federation) -> None:
    federation.stop("c")
    result = label(federation)
    assert result.exit_code == 0
    assert "Left out c [server.unreachable]" in result.stderr


def test_ctrl_c_says_how_to_go_on(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("ostraka.client.peers.guardian_peer.GuardianPeer.release", interrupt)
        result = label(federation)
    assert result.exit_code == 130
    assert "run the same command again to continue" in result.stderr
    assert label(federation).exit_code == 0
    assert rows(federation) == right(10)


def test_usage_errors_exit_2(federation: Federation) -> None:
    assert label(federation, "--queries", "many").exit_code == 2
    assert invoke("label").exit_code == 2


@pytest.mark.heavy
def test_encrypted_and_blind_from_the_command_line(federation: Federation) -> None:
    result = label(federation, "--encoding", "ckks", "--tally", "blind", "--batch-size", 10, "--json", "-")
    assert result.exit_code == 0
    figures = json.loads(result.stdout)
    assert (figures["encoding"], figures["tally"], figures["answered"]) == ("ckks", "blind", 10)
    named = {(step["peer"], step["name"]) for step in figures["steps"]}
    assert {("none", "encrypt"), ("party", "evaluate"), ("party", "compare"), ("guardian", "garble")} <= named
    reported = invoke("report", "--run", run_of(federation))
    for switch in ("(ckks)", "(blind)"):
        assert switch in reported.stderr + reported.stdout


def test_what_garbled_circuits_cannot_do_is_refused_with_what_can(several: Federation) -> None:
    error = refused(label(several, "--mechanism", "powerset:sigma=5", "--tally", "blind"))
    assert error.code is ErrorCode.PLAN_INVALID
    assert "tally aggregate, or one of gnmax" in error.message


def test_records_that_were_asked_about_are_not_paid_for_again_by_mistake(federation: Federation) -> None:
    assert label(federation).exit_code == 0
    (remembered,) = (federation.site / FOLDER).iterdir()
    kept = AskedRecords.model_validate_json(remembered.read_bytes())
    assert (len(kept.records), kept.meant) == (10, ())
    sessions = len(federation.guardian.plans)
    other = federation.root / "other"
    again = ("--site", federation.site, "--pool", federation.pool, "--out", other)
    noise = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
    error = refused(invoke("label", *again, *noise))
    assert error.code is ErrorCode.RUN_ASKED_BEFORE
    assert f"10 of these 10 records were asked about before, in {run_of(federation)}" in error.message
    assert "of a, " in error.message
    assert len(federation.guardian.plans) == sessions
    assert not other.exists()
    # The run itself goes on, other records are others, and whoever wants to pays again.
    assert label(federation).exit_code == 0
    fewer = invoke("label", *again, *noise, "--again", "--queries", 4)
    assert fewer.exit_code == 0
    assert len(federation.guardian.plans) == sessions + 1


def test_the_folder_of_a_site_is_no_run(federation: Federation) -> None:
    error = refused(
        invoke(
            "label",
            *("--site", federation.site, "--pool", federation.pool, "--out", federation.site),
            *("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6"),
        )
    )
    assert error.code is ErrorCode.RUN_MISMATCH
    assert f"such as {federation.site / 'run'}" in error.message
    assert not federation.guardian.plans


@pytest.mark.parametrize(("answer", "more", "asked"), [("n", (), 0), ("y", (), 1), ("", ("--yes",), 1)])
def test_a_person_at_a_terminal_is_asked_before_the_first_charge(
    federation: Federation, monkeypatch: pytest.MonkeyPatch, answer: str, more: tuple[str, ...], asked: int
) -> None:
    monkeypatch.setattr("ostraka.client.cli.label.is_terminal", lambda: True)
    files = ("--site", federation.site, "--pool", federation.pool, "--out", run_of(federation))
    noise = ("--mechanism", "confident:sigma1=10,sigma2=5,threshold=6")
    arguments = [str(argument) for argument in ("label", *files, *noise, *more)]
    said = CliRunner().invoke(app, arguments, input=f"{answer}\n")
    assert len(federation.guardian.plans) == asked
    assert "epsilon of this plan" in said.stderr
    # Where nobody was asked nothing is remembered, and nothing would be paid again.
    assert len(list((federation.site / "asked").glob("*.json"))) == asked
    assert ("have them charged?" in said.stderr) is not bool(more)
