"""`ostraka lead` as it is typed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from deploy.cli import app
from tests.client.training.sites import PARTIES, Sites

OPTIONS = ("--rounds=3", "--steps=2", "--batch-size=8", "--average-rate=2", "--radius=1", "--sigma=0.5")


def test_a_training_is_led_and_its_cost_told(noisy: Sites, tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    site = str(noisy.folders.parties["a"])
    told = CliRunner().invoke(
        app, ["lead", "--site", site, "--training=dp-ttac", *OPTIONS, "--json", str(out)]
    )
    assert told.exit_code == 0, told.output
    assert "learned for 3 rounds, at least 3 parties in each sum" in told.output
    report = json.loads(out.read_text())
    assert (report["kind"], report["guarantee"], report["stopped"]) == ("dp_ttac", "record", None)
    assert [cost["site"] for cost in report["costs"]] == list(PARTIES)
    assert f"{report['costs'][0]['epsilon']:.3f}" in told.output
    assert report["notion"] == "DP for records"
    assert "epsilon (DP" in told.output


def test_ttac_is_led_and_said_to_promise_nothing(plain: Sites) -> None:
    site = str(plain.folders.parties["a"])
    told = CliRunner().invoke(app, ["lead", "--site", site, "--training=ttac", *OPTIONS])
    assert told.exit_code == 0, told.output
    assert "No formal guarantee" in told.output
    assert "epsilon" not in told.output.partition("No formal guarantee")[0]


@pytest.mark.parametrize("wrong", ["--rounds=1", "--training=together", "--quorum=1"])
def test_options_that_make_no_sense_are_refused(noisy: Sites, wrong: str) -> None:
    site = str(noisy.folders.parties["a"])
    told = CliRunner().invoke(app, ["lead", "--site", site, "--training=dp-ttac", wrong])
    assert told.exit_code != 0
    assert set(noisy.charged.values()) == {0}
