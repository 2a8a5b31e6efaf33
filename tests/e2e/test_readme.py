import os
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from ostraka.common.exit_status import ExitStatus
from ostraka.deploy.simulation.process_start import Start
from ostraka.deploy.simulation.processes import ChildCommand, Supervisor

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def commands() -> list[str]:
    """Return the commands of "Run your own", in order."""
    section = (ROOT / "README.md").read_text().split("## Run your own")[1].split("\n## ")[0]
    return [line for block in re.findall(r"```sh\n(.*?)```", section, re.S) for line in block.splitlines()]


def free_ports(count: int) -> int:
    """Return the first of `count` ports in a row that nobody listens on."""
    for base in range(20000, 30000, count):
        try:
            for port in range(base, base + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return base
    pytest.fail("no ports are free")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.heavy
def test_every_command_of_run_your_own_works(
    folder: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    port = free_ports(4)
    with Supervisor(folder / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        for number, command in enumerate(commands()):
            words = shlex.split(command)
            if "provision" in words:
                words += ["--base-port", str(port)]
            if "serve" in words:
                ready = folder / f"ready-{number}"
                child = processes.start(
                    ChildCommand(f"server-{number}", [*words[1:], "--ready-file", str(ready)])
                )
                processes.wait_ready(child, ready, 60)
            elif words[0] == "ostraka" and "provision" not in words:
                child = processes.start(ChildCommand(f"command-{number}", words[1:]))
                child.process.wait()
                stops = "label" in words and child.process.returncode == ExitStatus.STOPPED
                assert stops or child.process.returncode == 0, f"{command}\n{child.log.read_text()}"
            else:
                ended = subprocess.run(words, capture_output=True, text=True)
                assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    labels = (folder / "fed/delta/run/labels.csv").read_text()
    assert labels.count(",answered") > 0


def test_run_your_own_covers_every_role() -> None:
    starts = {" ".join(command.split()[:3]) for command in commands()}
    assert {"ostraka guardian serve", "ostraka party train", "ostraka party serve"} <= starts
    assert {"ostraka query label", "ostraka query retrain", "ostraka guardian budget"} <= starts
