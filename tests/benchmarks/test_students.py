import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.students.__main__ import app
from benchmarks.students.answers import answer
from benchmarks.students.cells import Cell
from benchmarks.students.settings import FULL, QUICK, Plan
from benchmarks.students.table import table
from ostraka.common.mechanism import Confident
from ostraka.common.privacy import budget_rdp
from ostraka.guardian.accounting import Tally
from ostraka.guardian.mechanisms import charge
from ostraka.guardian.noise import LATTICE

DELTA = 1e-5
PLAN = Plan(1.0, 20.0, Confident(sigma1=60.0, sigma2=25.0, threshold=200.0))


def votes(queries: int = 400) -> np.ndarray:
    random = np.random.default_rng(0)
    leads = random.integers(120, 251, queries)
    counts = np.zeros((queries, 3), np.int64)
    counts[:, 0], counts[:, 1] = leads, 250 - leads
    return random.permuted(counts, axis=1)


def test_what_is_spent_is_what_the_guardian_charges_for_the_same_answers() -> None:
    counts = votes()
    found = answer(counts, PLAN, DELTA, seed=1)
    asked = np.random.default_rng(1).permutation(len(counts))[: found.asked]
    answered = np.isin(asked, found.rows)[:, None]
    total = np.full(len(asked), 250.0)
    tally = Tally(PLAN.mechanism, 3, total, 250, counts[asked].astype(float), answered)
    assert found.spent == pytest.approx(charge(tally, PLAN.order, "exact", lattice=LATTICE))
    assert found.worst == pytest.approx(charge(tally, PLAN.order, "worst_case", lattice=LATTICE))
    assert found.spent < found.worst


def test_no_query_is_asked_that_might_exceed_the_budget_and_the_one_after_might() -> None:
    found = answer(votes(), PLAN, DELTA, seed=1)
    limit = budget_rdp(PLAN.epsilon, DELTA, PLAN.order)
    assert 0 < found.asked < 400
    assert found.spent <= limit
    assert found.epsilons(PLAN, DELTA)[0] <= PLAN.epsilon
    assert limit - found.spent < 20.0 / 25.0**2 + 20.0 / 60.0**2


def test_a_large_budget_pays_for_the_whole_pool_and_a_tiny_one_for_nothing() -> None:
    assert answer(votes(), replace(PLAN, epsilon=1e4), DELTA, seed=0).asked == 400
    nothing = answer(votes(), replace(PLAN, epsilon=0.01), DELTA, seed=0)
    assert (nothing.asked, len(nothing.rows), nothing.spent) == (0, 0, 0.0)


def test_students_of_a_seed_learn_from_the_same_labels() -> None:
    once, again, other = (answer(votes(), PLAN, DELTA, seed) for seed in (1, 1, 2))
    assert np.array_equal(once.rows, again.rows)
    assert np.array_equal(once.labels, again.labels)
    assert not np.array_equal(once.rows[:20], other.rows[:20])


def test_a_row_has_the_mean_and_deviation_over_seeds() -> None:
    one = Cell("vat", 0.7, 0, 100, 50, 0.98, 0.69, 7.0, 0.96, 10.0, 20.0)
    lines = table([one, replace(one, seed=1, accuracy=0.98, answered=60)]).splitlines()
    assert len(lines) == 3
    assert "| 55 | 98.0% | 97.00% ± 1.41% | 2 |" in lines[2]


@pytest.mark.heavy
def test_quick_measures_every_student_once_and_keeps_what_it_found(tmp_path: Path) -> None:
    run = ["--quick", "--seeds", "1", "--cache", str(tmp_path), "--json", str(tmp_path / "found.json")]
    first = CliRunner().invoke(app, run)
    assert first.exit_code == 0, first.output
    rows = re.findall(r"^\| (\w+) \| [\d.]+ of 8\.000", first.output, re.MULTILINE)
    assert rows == ["supervised", "vat", "mixmatch", "fixmatch"]
    cells = json.loads((tmp_path / "found.json").read_text())["cells"]
    assert {cell["answered"] for cell in cells} == {cells[0]["answered"]}
    assert all(cell["epsilon"] <= QUICK.plans[0].epsilon < cell["worst_case"] for cell in cells)
    assert CliRunner().invoke(app, run).output == first.output


def test_budgets_are_those_that_are_asked_for() -> None:
    assert [plan.epsilon for plan in FULL.plans] == [pytest.approx(np.log(2)), 1.97]
    assert (FULL.training.teachers, FULL.pool, FULL.delta) == (250, 9000, 1e-5)
