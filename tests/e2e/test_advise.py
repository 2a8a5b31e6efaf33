"""Advice at a federation: from what its guardian says that is left, before anybody is asked or charged."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.datasets import save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice import splits
from ostraka.deploy.advice.query_advice import advise_query
from ostraka.deploy.querying import app
from ostraka.deploy.simulation.federation import GUARDIAN, QUERY
from tests.e2e.sites import SETTINGS, SOON, Sites
from tests.e2e.test_sums import start_with_sums


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.heavy
@pytest.mark.processes
def test_what_is_left_is_advised_on_and_nothing_is_charged(
    sites: Sites, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splits, "MANY_SPLITS", 4)
    start_with_sums(sites)
    site = sites.folder / QUERY
    own = tmp_path / "own.npz"
    # The test records stand for own ones: the demo's 20 are too few to advise on.
    save(sites.split.test, own)
    page = tmp_path / "advice.html"
    command = ("advise", "--site", site, "--labelled", own, "--pool", site / "pool.npz")
    result = invoke(*command, "--epsilon", 8, "--json", tmp_path / "advice.json", "--page", page)
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "advice.json").read_text())
    declared = sum(map(len, sites.split.shards))
    assert sum(party["records"] for party in found["federation"]["parties"]) == declared
    assert {party["teachers"] for party in found["federation"]["parties"]} == {SETTINGS.teaching.teachers}
    assert f"{len(SETTINGS.sites)} parties declare {declared:,} labelled records" in result.output
    assert found["federation"]["epsilon"] == 8
    assert {"own", "pooled", "sums"} <= {way["way"] for way in found["ways"]}
    assert "Only the guardian was asked, and nothing was charged." in page.read_text()
    assert set(sites.charged().values()) == {0.0}
    for words in found["recommendation"]["commands"]:
        assert f"--site {site} --pool {site / 'pool.npz'}" in words

    everything = advise_query(site, own, parties=SETTINGS.sites[:2], retry=SOON)
    assert 0.5 * SETTINGS.budgets.epsilon < everything.offer.epsilon <= SETTINGS.budgets.epsilon
    assert len(everything.offer.parties) == 2

    sites.kill(GUARDIAN)
    with pytest.raises(OstrakaError) as caught:
        advise_query(site, own, retry=SOON)
    assert caught.value.code is ErrorCode.SERVER_UNREACHABLE
