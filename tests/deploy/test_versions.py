"""A released version and today's in one federation: either asks the other, and folders are upgraded.

The released version is that of the tag in `tests/deploy/conftest.py`; as long as there is no such tag it is
the last commit, which the working tree may differ from.
"""

import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ostraka.deploy.provisioning.provision import free_base_port
from ostraka.deploy.simulation.processes import Supervisor
from tests.deploy.installation import ByGroup, Installation
from tests.e2e import walkthrough

pytestmark = pytest.mark.roles
PARTIES = ("north", "south")
TRAINED = "party train --site fed/north --data tables/north.csv --teachers 4 --model logistic_regression"
SERVED = ("guardian serve --site fed/guardian", *(f"party serve --site fed/{party}" for party in PARTIES))
BUDGETED = tuple(
    f"guardian budget set --site fed/admin --party {party} --epsilon 100 --delta 1e-5" for party in PARTIES
)
UPGRADED = "guardian ledger migrate --site fed/guardian"


def asked(run: str) -> tuple[str, ...]:
    """Return what the querying party does, into its folder `run`."""
    return (
        "query label --site fed/west --pool tables/west-pool.csv --mechanism gnmax:sigma=4 --queries 20"
        f" --again --out {run}",
        f"query retrain --site fed/west --labelled tables/west-labelled.csv --pool tables/west-pool.csv"
        f" --run {run}",
    )


def run(folder: Path, commands: Sequence[str], givers: Mapping[str, Installation]) -> None:
    """Run commands, each by whoever gives it; servers end with the last; logs are in `folder`."""
    folder.mkdir()
    with Supervisor(folder, {"OMP_NUM_THREADS": "1"}, start=ByGroup(givers)) as processes:
        for number, command in enumerate(commands):
            words = shlex.split(command)
            if "serve" in words:
                walkthrough.serve(processes, number, words, folder)
            else:
                walkthrough.run_ostraka(processes, number, words)


def test_a_released_version_and_this_one_ask_each_other(
    released: Installation,
    installed: dict[str, Installation],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The released version serves this one's callers; then guardian and one party are upgraded."""
    monkeypatch.chdir(tmp_path)
    examples = walkthrough.ROOT / "examples"
    subprocess.run([sys.executable, str(examples / "hospital_tables.py"), "tables"], check=True)
    made = (
        "provision local --federation sepsis --parties north,south --query west --out fed"
        f" --base-port {free_base_port(3)}"
    )
    run(tmp_path / "made", [made], {"": released})
    for site in (*PARTIES, "west"):
        shutil.copy(examples / "hospital.toml", tmp_path / "fed" / site / "task.toml")
    run(tmp_path / "trained", [TRAINED], {"": released})
    # What teachers learned is no matter here, and to train others takes seconds.
    shutil.copytree(tmp_path / "fed/north/teachers", tmp_path / "fed/south/teachers")
    run(
        tmp_path / "before",
        (*SERVED, *BUDGETED, *asked("new-asks-old")),
        {"guardian serve": released, "party": released, "query": installed["query"], "": installed["admin"]},
    )
    run(
        tmp_path / "after",
        (UPGRADED, *SERVED, *asked("old-asks-new"), "guardian budget show --site fed/admin"),
        {
            "guardian budget": released,
            "guardian": installed["guardian"],
            "party serve --site fed/north": installed["party"],
            "": released,
        },
    )
    for folder in ("new-asks-old", "old-asks-new"):
        assert (tmp_path / folder / "labels.csv").read_text().count(",answered") > 0
        assert (tmp_path / folder / "student.skops").exists()
