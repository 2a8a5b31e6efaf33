import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import fan_out
from benchmarks.load.meter import Cost
from benchmarks.load.plot import CALLS, plot
from benchmarks.load.run import Ballots, Case, measure
from benchmarks.load.tables import attach_table, growth, growth_table, load_table
from ostraka.deploy.simulation.processes import Start

SESSION = ("OpenSession", "OpenBatch", "SubmitBallots", "Prepare")


def row(call: str, parties: int, guardian_s: float) -> dict[str, Any]:
    cost = Cost(call, guardian_s=guardian_s, client_s=0.2)
    for _ in range(parties):
        cost.time(lambda: b"reply", sent=300, received=len)
    cost.waited = [0.010] * parties
    return cost.figures()


def case(parties: int, seconds: float) -> dict[str, Any]:
    figures = {"parties": parties, "queries": 20, "ballots": "plain", "ledger": "sqlite", "guardians": 1}
    calls = [row("SubmitBallots", parties, 9.0), row("SubmitBallots", parties, seconds)]
    return {**figures, "peak_mb": 230.4, "relayed": None, "calls": calls}


def cells(table: Any, line: int) -> list[str]:
    return [list(column.cells)[line] for column in table.columns]


def test_a_row_is_of_one_call() -> None:
    table = load_table(case(100, 0.15))
    assert table.title == (
        "100 parties, 20 queries a batch, plain ballots, sqlite, guardians: 1, at most 230 MB"
    )
    assert cells(table, 1) == ["SubmitBallots", "100", "1.50", "0.150", "2.00", "300", "5", "10.0", "10.0"]


def test_growth_is_that_of_the_last_calls_of_a_kind() -> None:
    table = growth_table([case(10, 0.02), case(100, 0.15), case(400, 2.4)])
    assert cells(table, 0) == ["SubmitBallots", "0.020", "0.150", "2.400", "2.00"]


def test_growth_is_drawn(tmp_path: Path) -> None:
    cases = [case(10, 0.02), case(100, 0.15)]
    for one in cases:
        one["calls"] = [row(call, 1, 0.1) for call in CALLS]
    plot(cases, tmp_path / "growth.svg")
    drawn = (tmp_path / "growth.svg").read_text()
    assert all(f"<!-- {call} -->" in drawn for call in CALLS)


def test_one_case_does_not_grow() -> None:
    assert growth([10], [1.0]) == ""
    assert growth([10, 100], [1.0, 0.0]) == ""


@pytest.mark.heavy
@pytest.mark.parametrize("ballots", ["plain", "verified", "blind"])
def test_ten_parties_load_a_guardian(ballots: Ballots, start: Start) -> None:
    """Answers are checked by the load itself."""
    measured = measure(Case(10, ballots, queries=20), start)
    calls = {one["call"]: one for one in measured["calls"]}
    assert set(SESSION) < set(calls)
    assert calls["Register"]["calls"] == calls["SubmitBallots"]["calls"] == calls["floor"]["calls"] == 10
    assert 0 < calls["floor"]["guardian_ms"] < calls["Register"]["guardian_ms"]
    assert ("VerifyBallots" in calls) == (ballots == "verified")
    assert measured["peak_mb"] > 50


def test_attaching_is_shown_where_parties_call_by_a_relay() -> None:
    by = {"attach_s": 3.1, "attach_ms": 2.26, "attached_mb": 80, "relay_peak_mb": 82, "agents_peak_mb": 142}
    relayed = {**case(100, 0.15), "relayed": by}
    assert cells(attach_table([relayed]), 0) == ["100", "3.1", "2.26", "80", "82", "142"]
    assert cells(load_table(relayed), 1)[-2:] == ["0.00", "0.00"]


@pytest.mark.heavy
def test_parties_load_a_guardian_by_a_relay(start: Start) -> None:
    measured = measure(Case(4, queries=20, relay=True), start)
    calls = {one["call"]: one for one in measured["calls"]}
    assert calls["Register"]["relay_ms"] > 0
    assert calls["Register"]["agents_ms"] > 0
    assert measured["relayed"]["attached_mb"] > 50


@pytest.mark.heavy
def test_guardians_share_a_ledger(start: Start) -> None:
    measured = measure(Case(4, ledger="postgresql", guardians=2, queries=20), start)
    sessions = [one for one in measured["calls"] if one["call"] == "OpenSession"]
    assert len(sessions) == 2


@pytest.mark.heavy
def test_a_querying_party_asks_ten_parties() -> None:
    measured = fan_out.measure(Case(10, queries=20))
    assert measured["parties"] == 10
    assert len(measured["batch_ms"]) == fan_out.BATCHES
    assert min(measured["batch_ms"]) > 0
    assert measured["plan_bytes"] + measured["header_bytes"] < measured["first_header_bytes"] < 4096
    assert cells(fan_out.fan_out_table([measured]), 0)[0] == "10"


@pytest.mark.heavy
def test_a_querying_party_asks_parties_by_a_relay() -> None:
    measured = fan_out.measure(Case(4, queries=20, relay=True))
    assert len(measured["relay_ms"]) == len(measured["agents_ms"]) == 1 + fan_out.BATCHES
    assert min(measured["relay_ms"][0], measured["agents_ms"][0]) > 0
    assert cells(fan_out.fan_out_table([measured]), 0)[-1] == f"{measured['relay_peak_mb']:,.0f}"


def test_grpc_is_told_to_be_quiet_before_it_is_imported() -> None:
    told = "import os, sys, benchmarks; print(os.environ['GRPC_VERBOSITY'], 'grpc' in sys.modules)"
    environment = {key: value for key, value in os.environ.items() if key != "GRPC_VERBOSITY"}
    ran = subprocess.run(
        [sys.executable, "-c", told], env=environment, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "NONE False\n"
