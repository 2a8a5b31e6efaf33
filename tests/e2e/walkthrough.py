"""Run the commands of a page's ```sh blocks as a reader would, servers beside the rest."""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ostraka.common.console.cli import ExitStatus
from ostraka.deploy.provisioning.provision import free_base_port
from ostraka.deploy.simulation.processes import ChildCommand, Start, Supervisor
from tests.fair_clock import HANGS_S

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def commands(text: str) -> list[str]:
    """Return the commands of all ```sh blocks, in order."""
    return [line for block in re.findall(r"```sh\n(.*?)```", text, re.S) for line in block.splitlines()]


def run(
    page_commands: list[str],
    folder: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    on_provisioned: Callable[[Supervisor], object] = lambda _: None,
) -> None:
    """Run commands in `folder`, which gets this repository's examples; fail at the first that fails.

    `on_provisioned` is called once there are folders of sites, with what starts processes.
    """
    (folder / "examples").symlink_to(ROOT / "examples")
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    port = free_base_port(4)
    with Supervisor(folder / "logs", {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        for number, command in enumerate(page_commands):
            words = shlex.split(command)
            if "provision" in words:
                words += ["--base-port", str(port)]
            if words[0] == "ostraka":
                run_ostraka(processes, number, words[1:], folder)
                if "provision" in words:
                    on_provisioned(processes)
            else:
                ended = subprocess.run(words, capture_output=True, text=True)
                assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"


def run_ostraka(processes: Supervisor, number: int, words: list[str], folder: Path) -> None:
    """Start a server and wait until it is ready, or wait for any other command's end."""
    if "serve" in words:
        ready = folder / f"ready-{number}"
        child = processes.start(ChildCommand(f"server-{number}", [*words, "--ready-file", str(ready)]))
        processes.wait_ready(child, ready, HANGS_S)
        return
    child = processes.start(ChildCommand(f"command-{number}", words))
    child.process.wait()
    stops = "label" in words and child.process.returncode == ExitStatus.STOPPED
    assert stops or child.process.returncode == 0, f"{shlex.join(words)}\n{child.log.read_text()}"
