"""Statistics of real parties' records, as people type it."""

import json
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.federation import QUERY
from tests.e2e.sites import Sites
from tests.e2e.test_fit import invoke
from tests.e2e.test_sums import start_with_sums


@pytest.mark.heavy
@pytest.mark.processes
def test_counts_are_told_paid_for_once_and_kept(sites: Sites, tmp_path: Path) -> None:
    start_with_sums(sites)
    command = ("describe", "x20,label", "--site", sites.folder / QUERY, "--out", tmp_path / "run")
    asked = (*command, "--where", "x20>=4 and x20<12", "--epsilon", 1000, "--json", "-")
    made = invoke(*asked)
    assert made.exit_code == 0, made.stderr
    figures = json.loads(made.stdout)
    records = sites.split.shards
    values = np.concatenate([shard.X[:, 20] for shard in records])
    labels = np.concatenate([shard.labels() for shard in records])
    meant = (values >= 4) & (values < 12)
    noise = 8 * figures["sigma"]
    assert figures["records"]["estimate"] == pytest.approx(meant.sum(), abs=noise * 5)
    pixel, label = figures["columns"]
    counted = [one["count"]["estimate"] for one in label["counts"]]
    assert np.abs(counted - np.bincount(labels[meant], minlength=10)).max() < noise, "8 deviations"
    assert pixel["mean"]["estimate"] == pytest.approx(values[meant].mean(), abs=0.5)
    charged = sites.charged()
    assert {cost["site"]: cost["charged_epsilon"] for cost in figures["costs"]} == pytest.approx(charged)

    again = invoke(*asked)
    assert json.loads(again.stdout) == figures
    assert sites.charged() == charged
    other = invoke(*command, "--epsilon", 2000)
    assert isinstance(other.exception, OstrakaError)
    assert other.exception.code is ErrorCode.RUN_MISMATCH
    page = tmp_path / "page.html"
    reported = invoke("report", "--run", tmp_path / "run", "--html", page)
    assert reported.exit_code == 0
    assert "Records where x20>=4 and x20<12 of party-1, party-2, party-3" in reported.output
    assert "deviation of the noise" in page.read_text()
