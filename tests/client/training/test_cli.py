"""`ostraka lead` as it is typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.console.texts import epsilon_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.cli import app
from tests.client.training.sites import PARTIES, Sites

OPTIONS = ("--rounds=3", "--steps=2", "--batch-size=8", "--average-rate=2", "--radius=1", "--sigma=0.5")


def lead(sites: Sites, *options: str) -> Result:
    site = str(sites.folders.parties["a"])
    return CliRunner().invoke(app, ["lead", "--site", site, "--training=dp-ttac", *options])


@pytest.mark.heavy
def test_a_training_is_led_and_its_cost_told(noisy: Sites, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    told = lead(noisy, *OPTIONS, "--json", str(out))
    assert told.exit_code == 0, told.output
    for figure in ("3 rounds", "3 parties"):
        assert figure in told.output
    report = json.loads(out.read_text())
    assert (report["kind"], report["guarantee"], report["stopped"]) == ("dp_ttac", "record", None)
    assert [cost["site"] for cost in report["costs"]] == list(PARTIES)
    assert epsilon_text(report["costs"][0]["epsilon"]) in told.output
    assert report["notion"] == "DP for records"
    assert "epsilon (DP" in told.output


@pytest.mark.heavy
def test_ttac_is_led_and_said_to_promise_nothing(plain: Sites) -> None:
    site = str(plain.folders.parties["a"])
    told = CliRunner().invoke(app, ["lead", "--site", site, "--training=ttac", *OPTIONS])
    assert told.exit_code == 0, told.output
    assert "No formal guarantee" in told.output
    assert "epsilon" not in told.output.partition("No formal guarantee")[0]


@pytest.mark.parametrize("wrong", ["--rounds=1", "--training=together"])
def test_options_that_are_none_are_usage_errors(noisy: Sites, wrong: str) -> None:
    told = lead(noisy, wrong)
    assert told.exit_code == 2
    assert wrong.partition("=")[0] in told.output
    assert set(noisy.charged.values()) == {0}


@pytest.mark.heavy
def test_a_quorum_below_the_policys_is_refused(noisy: Sites) -> None:
    refused = lead(noisy, "--quorum=1").exception
    assert isinstance(refused, OstrakaError)
    assert (refused.code, "quorum" in refused.message) == (ErrorCode.POLICY_REFUSED, True)
    assert set(noisy.charged.values()) == {0}
