"""A running project of docker-compose.yml, controlled and inspected by tests."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.client.session.run_state import STATE_FILE, RunState
from ostraka.deploy.images.locks import ROOT
from tests.waiting import until

NAME = "ostraka-test"
LOGS = ROOT / "build" / "compose-logs"
POLL_S = 0.5


@dataclass(frozen=True)
class Ended:
    """A command that has ended, with its output."""

    status: int
    out: str
    err: str


@dataclass(frozen=True)
class Project:
    """One project; `command` is the command of compose here, with the file if not docker-compose.yml."""

    command: tuple[str, ...]
    name: str = NAME

    def compose(self, *arguments: str) -> str:
        """Return the output of a compose command; fail the test if the command fails."""
        return succeeded(self._compose(*arguments))

    def one_off(self, service: str, *arguments: str, entrypoint: str = "ostraka") -> Ended:
        """Run a command in a new container of a service, without the services that it depends on."""
        return self._compose(
            "run", "--rm", "--no-deps", "-T", "--entrypoint", entrypoint, service, *arguments
        )

    def started(self, name: str, service: str, *arguments: str) -> str:
        """Start `ostraka` with these arguments in a new container of a service, and return its name."""
        container = f"{self.name}-{name}"
        run = ("run", "--detach", "--no-deps", "--name", container, "--entrypoint", "ostraka")
        self.compose(*run, service, *arguments)
        return container

    def container(self, service: str) -> str:
        """Return the id of a service's container, running or not."""
        label = f"label=com.docker.compose.service={service}"
        own, lasting = (
            f"label=com.docker.compose.project={self.name}",
            "label=com.docker.compose.oneoff=False",
        )
        found = docker(
            "ps", "--all", "--quiet", "--filter", label, "--filter", own, "--filter", lasting
        ).split()
        assert len(found) == 1, f"{service} has the containers {found}"
        return found[0]

    def containers(self) -> dict[str, dict[str, Any]]:
        """Return the engine's data about every service's container, by service."""
        own = f"label=com.docker.compose.project={self.name}"
        found = json.loads(docker("inspect", *docker("ps", "--all", "--quiet", "--filter", own).split()))
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in found}

    def wait_healthy(self, service: str) -> None:
        """Wait until a server reports that it serves."""
        until(lambda: inspect(self.container(service), ".State.Health.Status") == "healthy", 180, POLL_S)

    def kill(self, service: str) -> None:
        """Kill a service's process; it stays down."""
        docker("kill", "--signal", "KILL", self.container(service))

    def start(self, service: str) -> None:
        """Start a service that is down, and wait until it serves."""
        docker("start", self.container(service))
        self.wait_healthy(service)

    def admin(self, *arguments: str) -> Any:
        """Return the JSON output of an administrator's command of `ostraka guardian`."""
        said = succeeded(self.one_off("budgets", "guardian", *arguments, "--site", "/site", "--json", "-"))
        return json.loads(said)

    def logs(self, service: str) -> str:
        """Return everything that a service logged."""
        ended = _run("docker", "logs", self.container(service))
        return ended.out + ended.err

    def save_logs(self) -> Path:
        """Write the log of every container of the project, running or not, and return the folder."""
        LOGS.mkdir(parents=True, exist_ok=True)
        own = f"label=com.docker.compose.project={self.name}"
        for name in docker("ps", "--all", "--format", "{{.Names}}", "--filter", own).split():
            ended = _run("docker", "logs", "--timestamps", name)
            (LOGS / f"{name}.log").write_text(ended.out + ended.err, encoding="utf-8")
        return LOGS

    def clean(self) -> None:
        """Remove everything that the project made: containers, networks, volumes."""
        profiles = ("--profile", "confidential", "--profile", "model")
        self._compose(*profiles, "down", "--volumes", "--remove-orphans", "--timeout", "5")
        own = f"label=com.docker.compose.project={self.name}"
        if left := docker("ps", "--all", "--quiet", "--filter", own).split():
            docker("rm", "--force", "--volumes", *left)
            self._compose("down", "--volumes", "--remove-orphans")

    def _compose(self, *arguments: str) -> Ended:
        return _run(*self.command, "--project-name", self.name, *arguments)


def docker(*arguments: str) -> str:
    """Return the output of a docker command; fail the test if the command fails."""
    return succeeded(_run("docker", *arguments))


def inspect(container: str, field: str) -> str:
    """Return one field of the engine's data about a container."""
    return docker("inspect", "--format", f"{{{{{field}}}}}", container).strip()


def succeeded(ended: Ended) -> str:
    """Return what a command printed; fail the test unless the command succeeded."""
    assert ended.status == 0, f"ended with {ended.status}: {ended.err}{ended.out}"
    return ended.out


def state_of(container: str, run: str) -> RunState | None:
    """Return the state of a run in /report, as its container sees it; None before the run begins.

    `docker cp` truncates a file that is replaced by a longer one meanwhile; it is then copied again.
    """
    while (ended := _run("docker", "cp", f"{container}:/report/{run}/{STATE_FILE}", "-")).status == 0:
        text = ended.out[ended.out.index("{") : ended.out.rindex("}") + 1]
        try:
            json.loads(text)
        except ValueError:
            continue
        return RunState.model_validate_json(text)
    return None


def exit_status(container: str, timeout_s: float) -> int:
    """Wait until a container ends, and return its status."""
    until(lambda: inspect(container, ".State.Status") == "exited", timeout_s, POLL_S)
    return int(inspect(container, ".State.ExitCode"))


def _run(*command: str) -> Ended:
    ended = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return Ended(ended.returncode, ended.stdout, ended.stderr)
