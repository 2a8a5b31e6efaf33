import json

import pytest
from typer.testing import CliRunner

from ostraka.client.cli.query import app
from ostraka.client.students.label_dp.calibrate import noise_cluster_delta
from ostraka.common.errors import ErrorCode, OstrakaError


def test_calibrate_says_how_much_noise_is_enough() -> None:
    shown = CliRunner().invoke(app, ["calibrate", "--epsilon", "0.5", "--json", "-"])
    figures = json.loads(shown.output)
    assert noise_cluster_delta(figures["sigma"], 0.5) <= 1e-5
    assert figures["sigma"] == pytest.approx(9.94, abs=0.01)
    assert 0.5 < figures["charged_epsilon"] < 0.65
    told = CliRunner().invoke(app, ["calibrate", "--epsilon", "0.5"])
    assert "(0.5, 1e-05)-label-DP" in told.output


@pytest.mark.parametrize(
    ("wanted", "told"), [(["--epsilon", "0"], "epsilon"), (["--epsilon", "1", "--delta", "1"], "delta")]
)
def test_calibrate_refuses_what_no_noise_gives(wanted: list[str], told: str) -> None:
    refused = CliRunner().invoke(app, ["calibrate", *wanted]).exception
    assert isinstance(refused, OstrakaError)
    assert refused.code == ErrorCode.CONFIG_INVALID
    assert f"{told}: must" in refused.message
