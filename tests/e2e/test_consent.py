"""A whole federation whose records differ in consent, by every variant of personalised PATE."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from ostraka.deploy.simulation.processes import Start
from ostraka.deploy.simulation.report import SimulationReport, UnitSpending
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from ostraka.guardian.admin.verification import verify_ledger
from tests.e2e.test_simulate import SMALL

LEVELS = {"low": 100.0, "high": 400.0}
WIDE = {"mechanism": "confident:sigma1=4,sigma2=4,threshold=6"}
"""Noise that is enough for the policy where fewer vote and it is scaled down."""
OTHERS = ("none", "upsampling", "weighting")
CONSENT = {
    "consent": {"low": 0.5, "high": 0.5},
    "levels": LEVELS,
    "teachers": 4,
    "enforce": "worst_case",
    "batch_size": 20,
}


def simulated(folder: Path, start: Start, variant: str, **changes: Any) -> SimulationReport:
    wanted = SMALL.model_dump() | CONSENT | WIDE | {"variant": variant} | changes
    settings = Settings.model_validate(wanted)
    return simulate(settings, folder / "run", announce=lambda _: nullcontext(), start=start)


def spent(units: list[UnitSpending]) -> set[float]:
    return {unit.epsilon_worst_case for unit in units}


@pytest.mark.parametrize(
    "variant", [*(pytest.param(name, marks=pytest.mark.heavy) for name in OTHERS), "vanishing"]
)
def test_each_group_pays_for_what_its_records_can_change(tmp_path: Path, variant: str, start: Start) -> None:
    report = simulated(tmp_path, start, variant)
    low = [unit for unit in report.units if unit.group == "low"]
    high = [unit for unit in report.units if unit.group == "high"]
    assert (len(low), len(high)) == (3, 3)
    assert report.asked > 0
    assert {unit.epsilon_budget for unit in low} == {LEVELS["low"]}
    assert all(0 <= unit.epsilon_worst_case <= unit.epsilon_budget for unit in report.units)
    # A query that fails its check may cost more than the check alone, so that one that passes costs less.
    assert all(unit.epsilon_data_dependent <= 1.05 * unit.epsilon_worst_case for unit in report.units)
    assert max(spent(high)) > 0
    if variant != "none":
        assert max(spent(low)) < min(spent(high))
    page = (tmp_path / "run" / "report.html").read_text()
    assert f"100 (low), 400 (high), used by variant {variant}," in page
    assert verify_ledger(tmp_path / "run/guardian/ledger.db", tmp_path / "run/guardian/ca.crt", [])


@pytest.mark.heavy
def test_whole_parties_may_have_budgets_that_end_together(tmp_path: Path, start: Start) -> None:
    own = {"consent": None, "levels": None, "epsilon": 200.0, "epsilons": {"party-1": 100, "party-3": 400}}
    report = simulated(tmp_path, start, "weighting", **own)
    budgets = {unit.party: unit.epsilon_budget for unit in report.units}
    assert budgets == {"party-1": 100.0, "party-2": 200.0, "party-3": 400.0}
    costs = [unit.epsilon_worst_case for unit in report.units]
    assert 0 < costs[0] < costs[1] < costs[2]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "100 (party-1), 200 (party-2), 400 (party-3), used by variant weighting," in page
