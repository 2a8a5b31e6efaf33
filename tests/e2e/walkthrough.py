"""Run the commands of a page's ```sh blocks like a reader, with servers in parallel."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.console.cli import ExitStatus
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.provision import free_base_port
from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PORTS = 10
"""Number of ports for a page, starting at the guardian's 17700."""
READY_S = 120
CTRL_C = "# Ctrl-C: "
"""How a page says that a server is stopped in its terminal."""


def commands(text: str) -> list[str]:
    """Return the commands of all ```sh blocks, in order; continued lines are joined."""
    blocks = re.findall(r"```sh\n(.*?)```", text, re.S)
    return [line for block in blocks for line in re.sub(r" *\\\n *", " ", block).splitlines()]


def run(
    page_commands: list[str],
    folder: Path,
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    on_provisioned: Callable[[Supervisor], object] = lambda _: None,
    exported: Mapping[str, str] | None = None,
) -> None:
    """Run commands in `folder`, with the repository's examples and charts; stop at the first failure.

    Ports are replaced by free ones. `on_provisioned` is called once sites have folders, with the supervisor
    that starts processes. `exported` overrides values of variables that a page exports. The output of
    commands is in `logs`.
    """
    for name in ("examples", "deploy"):
        (folder / name).symlink_to(ROOT / name)
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(folder)
    logs = folder / "logs"
    logs.mkdir()
    base = free_base_port(PORTS)
    servers: dict[str, Child] = {}
    with Supervisor(logs, {"OMP_NUM_THREADS": "1"}, start=start) as processes:
        for number, command in enumerate(page_commands):
            words = shlex.split(_at_ports(command, base), comments=True)
            if command.startswith(CTRL_C):
                processes.end(servers.pop(command.removeprefix(CTRL_C)))
            elif "serve" in words:
                servers[command] = serve(processes, number, words[1:], folder)
            elif words[:1] == ["export"]:
                name, _, value = words[1].partition("=")
                monkeypatch.setenv(name, (exported or {}).get(name, value))
            elif words[:2] == ["ostraka", "simulate"]:
                _simulate(words[1:], start, monkeypatch, logs / f"command-{number}.log")
            elif words[0] == "ostraka":
                ports = ["--base-port", str(base)] if "provision" in words else []
                run_ostraka(processes, number, words[1:] + ports)
            elif words[0] == "python":
                _run_script(words[1:], base, monkeypatch)
            else:
                _run_shell(_at_ports(command, base), logs / f"command-{number}.log")
            if "provision" in words or "examples/open_kits.py" in words:
                on_provisioned(processes)


def _at_ports(text: str, base: int) -> str:
    """Return a command, or a file, with free ports in place of 17700 and the following ports."""
    return re.sub(r"\b177(\d\d)\b", lambda port: str(base + int(port[1])), text)


def serve(processes: Supervisor, number: int, words: list[str], folder: Path) -> Child:
    """Start a server and wait until it is ready."""
    ready = folder / f"ready-{number}"
    child = processes.start(ChildCommand(f"server-{number}", [*words, "--ready-file", str(ready)]))
    processes.wait_ready(child, ready, READY_S)
    return child


def run_ostraka(processes: Supervisor, number: int, words: list[str]) -> None:
    """Run a command that is no server to completion."""
    child = processes.start(ChildCommand(f"command-{number}", words))
    child.process.wait()
    stops = "label" in words and child.process.returncode == ExitStatus.STOPPED
    assert stops or child.process.returncode == 0, f"{shlex.join(words)}\n{child.log.read_text()}"


def _simulate(words: list[str], start: Start, monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    """Simulate in this process, with processes started by `start`, so that modules are imported only once."""
    monkeypatch.setattr("ostraka.deploy.simulation.cli.forking", lambda: nullcontext(start))
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, f"{shlex.join(words)}\n{ended.output}{ended.exception}"
    log.write_text(ended.output)


def _run_script(words: list[str], base: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a script in this process, which has imported its modules; federation files get free ports."""
    files = [_with_ports(word, base) if word.endswith(".toml") else word for word in words]
    monkeypatch.setattr(sys, "argv", files)
    runpy.run_path(files[0], run_name="__main__")


def _with_ports(file: str, base: int) -> str:
    """Return the name of a copy of a file with free ports."""
    copy = Path(f"ports-{Path(file).name}")
    copy.write_text(_at_ports(Path(file).read_text(), base))
    return str(copy)


def _run_shell(command: str, log: Path) -> None:
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}{ended.stderr}"
    log.write_text(ended.stdout)
