import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.processes import ChildCommand, Start, Supervisor
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.run import simulate
from ostraka.deploy.simulation.settings import Settings
from ostraka.guardian.admin.verification import verify_ledger
from tests.waiting import until

SMALL = Settings(
    parties=3,
    teachers=2,
    labelled=20,
    queries=20,
    batch_size=10,
    mechanism="confident:sigma1=1.5,sigma2=1.5,threshold=3",
    epsilon=400,
    enforce="data_dependent",
    model="logistic_regression",
)
OPTIONS = [
    f"--{name.replace('_', '-')}={value}" for name, value in SMALL.model_dump(exclude_defaults=True).items()
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


def words(folder: Path, options: Sequence[str]) -> list[str]:
    return ["simulate", *options, "--out", str(folder)]


def processes_of(folder: Path) -> dict[int, int]:
    """Find processes whose output goes into a folder, this one's children or not, with their parents."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, PermissionError, ProcessLookupError):
            if (entry / "fd" / "1").readlink().is_relative_to(folder):
                found[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def test_a_simulation_reports_all_it_should(tmp_path: Path) -> None:
    folder, copy = tmp_path / "run", tmp_path / "out.json"
    command = [sys.executable, "-m", "ostraka.deploy.cli", *words(folder, [*OPTIONS, "--json", str(copy)])]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    written = json.loads((folder / "report.json").read_text())
    report = SimulationReport.model_validate(written)
    assert json.loads(copy.read_text()) == written
    assert written.keys() >= LISTED
    assert all(unit.keys() >= OF_A_UNIT for unit in written["units"])
    assert [unit.party for unit in report.units] == list(SMALL.sites)
    assert [holding.party for holding in report.holdings] == list(SMALL.sites)
    assert all(sum(holding.counts) == holding.records > 0 for holding in report.holdings)
    assert all(0 < unit.epsilon_data_dependent <= unit.epsilon_worst_case for unit in report.units)
    assert all(len(unit.history) == 2 for unit in report.units)
    assert report.asked == 20
    assert 0 < report.answered <= 20
    assert str(folder / "report.html") in ended.stdout
    assert "both directions" in ended.stdout
    assert "</html>" in (folder / "report.html").read_text()
    assert verify_ledger(folder / "guardian/ledger.db", folder / "guardian/ca.crt", [])
    assert processes_of(folder) == {}


def several_labels(folder: Path) -> str:
    """Write records of five features that have three labels, each with the sign of one feature."""
    X = np.random.default_rng(2).normal(size=(200, 5))
    file = folder / "signs.npz"
    np.savez(file, X=X, y=(X[:, :3] > 0).astype(int), classes=np.array(["first", "second", "third"]))
    return str(file)


def test_several_labels_are_answered_and_reported_each(tmp_path: Path, start: Start) -> None:
    options = {
        "data": several_labels(tmp_path),
        "task": "multilabel",
        "mechanism": "tau:sigma=1,tau=1.5",
    }
    settings = Settings.model_validate(SMALL.model_dump() | options)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert (report.task, report.mechanism.kind, report.asked) == ("multilabel", "tau", 20)
    assert [count.name for count in report.labels] == ["first", "second", "third"]
    assert all(count.right + count.wrong + count.unanswered == 20 for count in report.labels)
    assert all(0 < unit.epsilon_data_dependent <= unit.epsilon_worst_case for unit in report.units)
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.5, "about 0.95; so few of 60 have a chance below 1e-9"
    header = (tmp_path / "run" / "query" / "run" / "labels.csv").read_text().splitlines()[0]
    assert header == "id,first,second,third,status"
    assert "label by label" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.heavy
def test_a_student_asks_and_speaks_where_nobody_answers(tmp_path: Path, start: Start) -> None:
    options = {"mechanism": "interactive:sigma1=1.5,sigma2=1.5,threshold=100,confidence=0.2"}
    settings = Settings.model_validate(SMALL.model_dump() | options)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert (report.asked, report.answered) == (20, 0)
    assert 0 < report.by_student <= 20
    assert all(unit.epsilon_worst_case > 0 for unit in report.units)


@pytest.mark.heavy
def test_clusters_are_labelled_by_counts_of_records(tmp_path: Path, start: Start) -> None:
    options = {
        "mechanism": "noise_cluster:sigma=2",
        "adjacency": "label",
        "clusters": 15,
        "queries": 60,
    }
    settings = Settings.model_validate(SMALL.model_dump() | options)
    report = simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert (report.asked, report.answered) == (15, 15)
    assert {unit.adjacency for unit in report.units} == {"label"}
    assert sum(count.right + count.wrong for count in report.classes) == 60
    assert report.label_accuracy is not None
    assert report.label_accuracy > 0.1, "about 0.85; so few of 15 have a chance below 1e-10"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"task": "multilabel"}, "Setting task: multilabel"),
        ({"mechanism": "binary"}, "Setting mechanism"),
    ],
)
def test_a_task_that_the_data_are_not_starts_nothing(
    tmp_path: Path, changes: dict[str, object], told: str, start: Start
) -> None:
    settings = Settings.model_validate(SMALL.model_dump() | changes)
    with pytest.raises(OstrakaError, match=told) as caught:
        simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)
    assert caught.value.code == ErrorCode.CONFIG_INVALID


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "status"),
    [
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.heavy),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.heavy),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_however_a_simulation_is_stopped_no_process_is_left(
    tmp_path: Path, start: Start, number: signal.Signals, status: int
) -> None:
    folder = tmp_path / "run"
    with Supervisor(tmp_path, start=start) as processes:
        simulator = processes.start(ChildCommand("simulator", words(folder, OPTIONS))).process
        until(lambda: all((folder / site / "ready.json").exists() for site in SMALL.sites), 300)
        children = processes_of(folder)
        assert len(children) == 4
        (fork_server,) = set(children.values())
        left = [os.pidfd_open(pid) for pid in (fork_server, *children)]
        os.kill(simulator.pid, number)
        assert simulator.wait() == status
    assert all(select.select([one], [], [], 30)[0] for one in left)


@pytest.mark.heavy
def test_a_budget_too_small_for_one_query_says_so(tmp_path: Path, start: Start) -> None:
    settings = SMALL.model_copy(update={"epsilon": 2.0, "enforce": "worst_case"})
    assert refused(settings, start, tmp_path) == ErrorCode.BUDGET_TOO_SMALL


def test_a_data_dependent_budget_too_small_for_a_batch_ends_the_session(tmp_path: Path, start: Start) -> None:
    assert refused(SMALL.model_copy(update={"epsilon": 2.0}), start, tmp_path) == ErrorCode.SESSION_ENDED


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
    tmp_path: Path, arrays: dict[str, Any] | None, code: ErrorCode, start: Start
) -> None:
    file = tmp_path / "data.npz"
    if arrays is not None:
        np.savez(file, **arrays)
    assert refused(SMALL.model_copy(update={"data": str(file)}), start, tmp_path) == code
    assert list((tmp_path / "run").iterdir()) == []


def test_a_folder_in_use_is_left_alone(tmp_path: Path, start: Start) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "report.json").write_text("kept")
    assert refused(SMALL, start, tmp_path) == ErrorCode.CONFIG_INVALID
    assert (tmp_path / "run" / "report.json").read_text() == "kept"


def test_a_model_that_does_not_exist_is_quoted_from_the_partys_log(tmp_path: Path, start: Start) -> None:
    settings = SMALL.model_copy(update={"model": "oracle"})
    with pytest.raises(OstrakaError, match=r"party-\d-train failed.*oracle"):
        simulate(settings, tmp_path / "run", announce=lambda _: nullcontext(), start=start)


def refused(settings: Settings, start: Start, tmp_path: Path) -> ErrorCode:
    """Return the code that a simulation is refused with; check that nothing of it runs afterwards."""
    folder = tmp_path / "run"
    with pytest.raises(OstrakaError) as caught:
        simulate(settings, folder, announce=lambda _: nullcontext(), start=start)
    assert processes_of(folder) == {}
    return caught.value.code
