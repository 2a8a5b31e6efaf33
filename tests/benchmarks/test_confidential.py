import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.confidential import prototype
from benchmarks.confidential.sessions import Session
from benchmarks.confidential.tables import sessions_table, steps_table, work_table
from benchmarks.confidential.work import computation, inference
from ostraka.client.session.meter import StepTotals
from ostraka.common.crypto.computation import Computation
from ostraka.common.crypto.tally_circuits import sign_circuit
from ostraka.common.sharing.ring import Ring
from ostraka.deploy.simulation.settings import Settings

SETTINGS = Settings(parties=2, teachers=1, queries=10, batch_size=5)
STEPS = (
    StepTotals("party", "evaluate", times=4, seconds=0.5, sent=1000, received=3000),
    StepTotals("guardian", "garble", times=6, seconds=0.1, sent=10, received=40),
    StepTotals("none", "encrypt", times=1, seconds=0.2),
)
SESSION = Session("ckks", "blind", 10, 5, 2.0, 0.02, 0.03, 0.04, STEPS)


def row(table: object) -> list[str]:
    """Return the first row's cells."""
    return [next(iter(column.cells)) for column in table.columns]  # type: ignore[attr-defined]


def test_a_session_is_told_by_query_party_and_batch() -> None:
    cells = row(sessions_table(SETTINGS, [SESSION], None))
    assert cells[:4] == ["ckks", "blind", "2", "5"]
    assert cells[4:7] == ["2.00", "3.00", "4.00"]
    assert cells[7:] == ["200", "5", "1.0", "3.0"]
    assert row(steps_table(SETTINGS, [SESSION]))[4:] == ["4", "50.000", "100", "300"]


def test_work_counts_what_is_sent() -> None:
    circuit, queries = sign_circuit(Ring(32)), 8
    works = list(computation("sign", circuit, "guardian", queries))
    sent = {work.step: work.sent * queries for work in works if work.role == "guardian"}
    sizes = Computation.of(circuit, queries).sizes
    assert (sent["begin"], sent["garble"], sent["label"]) == (sizes.points, sizes.tables, sizes.labels)
    assert len(work_table(works).rows) == len(works)


def test_heads_are_evaluated_on_encrypted_queries() -> None:
    works = list(inference("small", "linear", (3, 2), 4))
    assert [work.step for work in works] == [
        "keys",
        "encrypt",
        "public key",
        "read keys",
        "evaluate",
        "decrypt",
    ]
    assert all(work.milliseconds > 0 for work in works)


def test_without_the_prototype_nothing_is_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(prototype, "PROTOTYPES", tmp_path / "none")
    assert prototype.run_prototype(2, 10) is None


def test_a_prototypes_figures_are_added_up_by_role(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    figures = {
        "per_q_ms": {"QP enc": 1.0, "QP gc": 2.0, "AP gc": 9.0, "PG final gc": 0.5},
        "per_q_per_ap_ms": {"AP HE eval": 0.25, "AP gc": 0.5, "QP gc": 7.0},
        "gc_B_q_ap": 100,
        "final_B_q": 50,
        "argmax_flips_from_rounding": "1/20",
    }
    (tmp_path / "e2e.py").write_text(f"def e2e(*case): print({json.dumps(json.dumps(figures))})\ne2e(5)\n")
    monkeypatch.setattr(prototype, "PROTOTYPES", tmp_path)
    found = prototype.run_prototype(2, 10)
    assert found == prototype.Prototype(3.0, 0.75, 0.5, 100, 50, "1/20")


@pytest.mark.heavy
def test_it_is_run_by_its_name() -> None:
    command = [sys.executable, "-m", "benchmarks.confidential", "--help"]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "--parties" in ended.stdout
