"""theorem6 against the reference implementation (tensorflow/privacy, research/pate_2018)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.privacy import epsilon
from ostraka.guardian.accounting import confident_rdp, gnmax_rdp, threshold_rdp
from ostraka.guardian.accounting.bounds.gnmax_rdp import log_q_argmax
from ostraka.guardian.noise import LATTICE
from tests.guardian.accounting import oracle

DATA = Path(__file__).parents[4] / "shared" / "data"
ABSENT = "the reference values lie in ../shared/data beside the checkout; without them this is skipped"


@pytest.fixture(scope="module")
def golden() -> dict[str, Any]:
    path = DATA / "golden_pate.json"
    if not path.exists():
        pytest.skip(ABSENT)
    values: dict[str, Any] = json.loads(path.read_text())
    return values


def test_gnmax(golden: dict[str, Any]) -> None:
    for case in golden["gnmax"]:
        rdp = gnmax_rdp([case["votes"]], case["sigma"], golden["orders"], bound="theorem6")[0]
        oracle.assert_equal(rdp, case["rdp"], case["regime"])


def test_gnmax_log_q(golden: dict[str, Any]) -> None:
    for case in golden["gnmax"]:
        votes = np.array([case["votes"]], dtype=float)
        oracle.assert_equal(log_q_argmax(votes, case["sigma"], 0.0), case["logq"])


def test_threshold(golden: dict[str, Any]) -> None:
    for case in golden["threshold"]:
        votes = [[case["max_votes"], 0]]
        rdp = threshold_rdp(votes, case["T"], case["sigma1"], golden["orders"], bound="theorem6")[0]
        oracle.assert_equal(rdp, case["rdp"])


def released(run: dict[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the votes of a run's queries, and which were answered."""
    path = DATA / run["votes_file"]
    if not path.exists():
        pytest.skip(ABSENT)
    votes = np.load(path)[: run["n_queries"]]
    answered = np.zeros(len(votes), dtype=bool)
    answered[run["answered"]] = True
    return votes, answered


@pytest.mark.parametrize("index", range(6))
def test_whole_runs(golden: dict[str, Any], index: int) -> None:
    run = golden["whole_runs"][index]
    votes, answered = released(run)
    orders = np.concatenate([np.arange(2, 101, 0.5), np.logspace(2, np.log10(500), 100)])
    rdp = confident_rdp(
        votes, run["T"], run["sigma1"], run["sigma2"], orders, answered, bound="theorem6"
    ).sum(axis=0)
    for order, value in run["rdp_dd_at"].items():
        assert rdp[orders == float(order)] == pytest.approx([value], rel=1e-9)
    assert epsilon(rdp.tolist(), orders.tolist(), run["delta"]) == pytest.approx(
        run["eps_dd_cks20"], rel=1e-9
    )


@pytest.mark.heavy
@pytest.mark.parametrize(("index", "aim", "orders"), [(0, 0.90, [17.5, 18.0]), (3, 2.67, [9.5])])
def test_whole_runs_under_exact(golden: dict[str, Any], index: int, aim: float, orders: list[float]) -> None:
    """The figures that the project set out to reach, here with the lattice that is released."""
    run = golden["whole_runs"][index]
    votes, answered = released(run)
    rdp = confident_rdp(
        votes, run["T"], run["sigma1"], run["sigma2"], orders, answered, bound="exact", lattice=LATTICE
    ).sum(axis=0)
    assert epsilon(rdp.tolist(), orders, run["delta"]) < aim


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("index", "aim", "orders"), [(0, 0.83, [20.0, 22.0]), (1, 0.86, [20.0]), (3, 2.60, [10.0])]
)
def test_whole_runs_by_released_label(
    golden: dict[str, Any], index: int, aim: float, orders: list[float]
) -> None:
    run = golden["whole_runs"][index]
    votes, answered = released(run)
    labels = np.full(len(votes), -1)
    labels[answered] = [int(label) for label in run["released"]]
    mechanism = run["T"], run["sigma1"], run["sigma2"]
    rdp = confident_rdp(votes, *mechanism, orders, answered, labels=labels, lattice=LATTICE).sum(axis=0)
    assert epsilon(rdp.tolist(), orders, run["delta"]) < aim
