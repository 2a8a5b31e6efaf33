"""`ostraka advise` on whole tables."""

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from typer.testing import CliRunner

import ostraka
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.advice import splits
from ostraka.deploy.advice.advise import MIN_EPSILON, advise
from ostraka.deploy.advice.options import MAX_PARTIES, AdviceOptions
from ostraka.deploy.cli import app
from tests.deploy.advice.tables import diagnosed, features, table


@pytest.fixture(autouse=True)
def _few_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try every way on fewer splits than a small table needs: what is told is clear, or not asked for."""
    monkeypatch.setattr(splits, "MANY_SPLITS", 5)


def test_an_epsilon_that_buys_nothing_is_refused() -> None:
    with pytest.raises(OstrakaError) as caught:
        advise(diagnosed(60), "diagnosis", AdviceOptions(parties=5, epsilon=1e-6))
    assert caught.value.code is ErrorCode.BUDGET_TOO_SMALL
    assert f"advice begins at {MIN_EPSILON}" in caught.value.message


def test_more_is_not_dealt_out_than_there_is() -> None:
    with pytest.raises(OstrakaError) as caught:
        advise(diagnosed(100), "diagnosis", AdviceOptions(parties=5, epsilon=2, own=60, pool=20))
    assert caught.value.code is ErrorCode.DATA_TOO_FEW
    assert "leave 0 for 5 sites" in caught.value.message


def test_skew_is_by_class() -> None:
    X = features(100)
    rows = table(X, price=X[:, 0] ** 2 + X[:, 1])
    with pytest.raises(OstrakaError) as caught:
        advise(rows, "price", AdviceOptions(parties=5, epsilon=2, skew=0.3))
    assert caught.value.code is ErrorCode.CONFIG_INVALID


def test_there_are_no_more_sites_than_any_federation_has(tmp_path: Path) -> None:
    records = ["advise", str(tmp_path / "none.csv"), "--label", "y", "--epsilon", "2", "--parties"]
    refused = CliRunner().invoke(app, [*records, str(MAX_PARTIES + 1)])
    assert refused.exit_code == 2
    assert not isinstance(refused.exception, OstrakaError)
    missing = CliRunner().invoke(app, [*records, str(MAX_PARTIES)])
    assert isinstance(missing.exception, OstrakaError)
    assert missing.exception.code is ErrorCode.DATA_MISSING


@pytest.mark.heavy
def test_a_table_that_many_sites_tell_more_of_is_worth_sums(tmp_path: Path) -> None:
    records = tmp_path / "records.csv"
    pyarrow.csv.write_csv(diagnosed(2_000), records)
    page = tmp_path / "advice.html"
    told = tmp_path / "advice.json"
    asked = [
        "advise",
        str(records),
        "--label",
        "diagnosis",
        "--parties",
        "5",
        "--epsilon",
        "4",
        "--own",
        "15",
    ]
    result = CliRunner().invoke(
        app, [*asked, "--page", str(page), "--json", str(told)], catch_exceptions=False
    )
    assert result.exit_code == 0
    found = json.loads(told.read_text())
    assert found["recommendation"]["way"] == "sums"
    assert "ostraka query fit --site SITE --pool POOL --labelled OWN" in result.stdout
    assert "Use noisy sums by" in result.stdout
    assert [epsilon for epsilon, _ in found["curve"]["sums"]] == [0.5, 1, 2, 4, 8]
    assert "At other epsilons" in page.read_text()
    kept = next(one for one in found["ways"] if one["variant"] == found["recommendation"]["variant"])
    assert kept["accuracy"]["low"] < kept["accuracy"]["estimate"] < kept["accuracy"]["high"]


@pytest.mark.heavy
def test_labels_that_nothing_tells_are_worth_nothing() -> None:
    rows = table(features(600), coin=np.random.default_rng(2).integers(2, size=600))
    found = ostraka.advise(rows, "coin", AdviceOptions(parties=5, epsilon=4))
    assert found.recommendation.way == "nothing"
    assert found.recommendation.sentence.startswith("Do nothing")


@pytest.mark.heavy
def test_numbers_are_told_by_their_explained_variance() -> None:
    X = features(900)
    rows = table(X, price=X.sum(axis=1) + 0.5 * np.random.default_rng(3).normal(size=900))
    found = ostraka.advise(rows, "price", AdviceOptions(parties=3, epsilon=8, own=10))
    assert found.judged_by == "r2"
    assert {one.way for one in found.ways} == {"nothing", "own", "pooled", "randomised labels", "sums"}
    assert all(one.r2 is not None and one.accuracy is None for one in found.ways)


@pytest.mark.heavy
def test_several_labels_are_told_together() -> None:
    X = features(700)
    labels = {f"l{place}": (X[:, place] > 0.1).astype(int) for place in range(2)}
    noisy = table(X + 0.5 * features(700, seed=4), **labels)
    found = ostraka.advise(noisy, ["l0", "l1"], AdviceOptions(parties=4, epsilon=4))
    assert found.judged_by == "accuracy"
    assert {"own", "pooled", "sums", "votes"} <= {one.way for one in found.ways}
