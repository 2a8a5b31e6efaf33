import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from common.errors import ErrorCode, OstrakaError
from deploy.simulation.report import Report
from deploy.simulation.run import simulate
from deploy.simulation.settings import Settings
from guardian.admin.verification import verify_ledger
from tests.e2e.sites import until

SMALL = Settings(
    parties=3,
    teachers=2,
    labelled=20,
    queries=20,
    batch_size=10,
    sigma1=1.5,
    sigma2=1.5,
    threshold=3,
    epsilon=400,
    enforce="data_dependent",
    model="logistic_regression",
)
OPTIONS = [
    f"--{name.replace('_', '-')}={value}" for name, value in SMALL.model_dump(exclude_none=True).items()
]
LISTED = {
    "queries",
    "answered",
    "label_accuracy",
    "student_accuracy_before",
    "student_accuracy_after",
    "units",
    "seconds",
    "throughput",
}
OF_A_UNIT = {
    "party",
    "group",
    "epsilon_worst_case",
    "epsilon_data_dependent",
    "bound",
    "order",
    "enforce",
    "epsilon_budget",
    "delta",
}


def command(folder: Path, options: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "deploy.cli", "simulate", *options, "--out", str(folder)]


def processes_of(folder: Path) -> list[int]:
    """Processes that name a folder on their command line, this one's children or not."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes()
        except (FileNotFoundError, NotADirectoryError, PermissionError, ProcessLookupError):
            continue
        if entry.name.isdigit() and f"{folder}{os.sep}".encode() in words:
            found.append(int(entry.name))
    return found


def test_a_simulation_reports_all_it_should(tmp_path: Path) -> None:
    folder, copy = tmp_path / "run", tmp_path / "out.json"
    ended = subprocess.run(command(folder, [*OPTIONS, "--json", str(copy)]), capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    written = json.loads((folder / "report.json").read_text())
    report = Report.model_validate(written)
    assert json.loads(copy.read_text()) == written
    assert written.keys() >= LISTED
    assert all(unit.keys() >= OF_A_UNIT for unit in written["units"])
    assert [unit.party for unit in report.units] == list(SMALL.sites)
    assert all(0 < unit.epsilon_data_dependent <= unit.epsilon_worst_case for unit in report.units)
    assert all(len(unit.history) == 2 for unit in report.units)
    assert report.asked == 20
    assert 0 < report.answered <= 20
    assert str(folder / "report.html") in ended.stdout
    assert "one direction" in ended.stdout
    assert "</html>" in (folder / "report.html").read_text()
    assert verify_ledger(folder / "guardian/ledger.db", folder / "guardian/ca.crt", [])
    assert processes_of(folder) == []


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_however_a_simulation_is_stopped_no_process_is_left(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    folder = tmp_path / "run"
    with subprocess.Popen(command(folder, OPTIONS), stdout=subprocess.DEVNULL) as process:
        until(lambda: all((folder / site / "ready.json").exists() for site in SMALL.sites))
        children = [os.pidfd_open(pid) for pid in processes_of(folder) if pid != process.pid]
        assert len(children) == 4
        process.send_signal(number)
    assert process.returncode == status
    assert all(select.select([child], [], [], 30)[0] for child in children)


def test_a_budget_too_small_for_one_query_says_so(tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"epsilon": 2.0, "enforce": "worst_case"})
    assert refused(settings, tmp_path) == ErrorCode.BUDGET_TOO_SMALL


def test_a_data_dependent_budget_too_small_for_a_batch_ends_the_session(tmp_path: Path) -> None:
    assert refused(SMALL.model_copy(update={"epsilon": 2.0}), tmp_path) == ErrorCode.SESSION_ENDED


@pytest.mark.parametrize(
    ("arrays", "code"),
    [
        (None, ErrorCode.DATA_MISSING),
        ({"X": np.zeros((9, 2))}, ErrorCode.DATA_MISSING),
        ({"X": np.zeros(9), "y": np.zeros(9, int)}, ErrorCode.DATA_SHAPE),
        ({"X": np.full((9, 2), np.nan), "y": np.zeros(9, int)}, ErrorCode.DATA_NAN),
        ({"X": np.zeros((9, 2)), "y": np.full(9, -1)}, ErrorCode.DATA_LABEL_RANGE),
        ({"X": np.zeros((9, 2)), "y": np.zeros(9, int)}, ErrorCode.DATA_TOO_FEW),
    ],
)
def test_data_that_are_off_start_nothing(
    tmp_path: Path, arrays: dict[str, Any] | None, code: ErrorCode
) -> None:
    file = tmp_path / "data.npz"
    if arrays is not None:
        np.savez(file, **arrays)
    assert refused(SMALL.model_copy(update={"data": str(file)}), tmp_path) == code
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text("kept")
    assert refused(SMALL, tmp_path) == ErrorCode.CONFIG_INVALID
    assert (tmp_path / "run" / "report.json").read_text() == "kept"


def test_a_model_that_does_not_exist_is_quoted_from_the_partys_log(tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"model": "oracle"})
    with pytest.raises(OstrakaError, match=r"party-\d-train failed.*oracle"):
        simulate(settings, tmp_path / "run", announce=lambda _: nullcontext())


def refused(settings: Settings, tmp_path: Path) -> ErrorCode:
    """The code that a simulation is refused with; nothing of it runs afterwards."""
    folder = tmp_path / "run"
    with pytest.raises(OstrakaError) as caught:
        simulate(settings, folder, announce=lambda _: nullcontext())
    assert processes_of(folder) == []
    return caught.value.code
