"""`ostraka mechanisms` as people type it."""

import json

from typer.testing import CliRunner

from ostraka.common.mechanism import labelling
from ostraka.deploy.cli import app


def test_all_mechanisms_are_shown_as_they_are_written() -> None:
    shown = CliRunner().invoke(app, ["mechanisms"])
    assert shown.exit_code == 0
    assert all(f"\n{kind}:" in f"\n{shown.stdout}" for kind in labelling())
    assert "binary:sigma=...,[check.sigma=...],[check.threshold=...]\n" in shown.stdout


def test_json_has_the_same() -> None:
    found = json.loads(CliRunner().invoke(app, ["mechanisms", "--json", "-"]).stdout)
    assert {one["name"] for one in found} >= set(labelling())
    (gnmax,) = [one for one in found if one["name"] == "gnmax"]
    assert gnmax["parameters"] == [
        {"name": "sigma", "meaning": "Noise of every count, in votes.", "required": True, "default": None}
    ]
