"""Run every check, two at a time, and tell how long each took; end with 1 where one failed twice.

What failed is run once more, alone: if it passes then, the table calls it flaky. What a phase prints goes to
build/ci/NAME.log, the second time to NAME.again.log, and to the terminal when the phase is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass
from pathlib import Path

LOGS = Path("build/ci")
PACKAGES = r"""
missing=
for needed in chromium:chromium debootstrap:debootstrap dockerd:docker.io docker-compose:docker-compose \
    haproxy:haproxy sshd:openssh-server /usr/lib/squid/security_file_certgen:squid-openssl; do
    command -v "${needed%:*}" > /dev/null || missing="$missing ${needed#*:}"
done
[ -z "$missing" ] && exit
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -q --yes --no-install-recommends $missing
"""
"""Installs Debian's package of every program that is missing."""
PYTEST = "--durations=20 --durations-min=1"
TAIL = 60
"""Lines of a failed phase that are printed once more at the end."""


@dataclass
class Phase:
    """A command, and what must have succeeded before it; `pytest` is the command of its cases, if any."""

    name: str
    command: str
    after: tuple[str, ...] = ()
    pytest: str = ""
    state: str = "waiting"
    seconds: float = 0.0
    processor_s: float = 0.0
    runs: int = 0

    @property
    def log(self) -> Path:
        """Where the output of its last run goes."""
        return LOGS / (f"{self.name}.log" if self.runs < 2 else f"{self.name}.again.log")

    @property
    def failed(self) -> bool:
        """Whether its last run failed."""
        return self.state.startswith("failed")

    def run(self) -> None:
        """Run the command to its end."""
        self._run(self.command, PYTEST)
        self.state = self.state or "ok"

    def run_again(self) -> None:
        """Run what failed once more: the cases that pytest names, or else all of it."""
        if self._cases_failed():
            self._run(self.pytest, f"{PYTEST} --last-failed")
        else:
            self._run(self.command, PYTEST)
        self.state = self.state or "flaky"

    def _run(self, command: str, pytest_options: str) -> None:
        """Run a command, and note how it failed; no state where it did not."""
        self.runs += 1
        options = f"{pytest_options} -o cache_dir={self._cache.absolute()}" if self.pytest else ""
        began = time.monotonic()
        with self.log.open("wb") as output:
            child = subprocess.Popen(
                ["/bin/bash", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"OSTRAKA_NO_SKIP": "1", "PYTEST_ADDOPTS": options},
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        self.seconds += time.monotonic() - began
        self.processor_s += used.ru_utime + used.ru_stime
        self.state = "" if child.returncode == 0 else f"failed ({child.returncode})"

    @property
    def _cache(self) -> Path:
        """Where pytest keeps what failed: each phase has its own, since two run at a time."""
        return LOGS / f"{self.name}.cache"

    def _cases_failed(self) -> bool:
        return (self._cache / "v/cache/lastfailed").exists()


INSTALL = ("install",)
PHASES = {
    phase.name: phase
    for phase in (
        Phase("install", "make install"),
        Phase("packages", PACKAGES),
        Phase("images", ".venv/bin/python -m tests.compose.engine", (*INSTALL, "packages")),
        Phase("heavy", "make heavy", (*INSTALL, "packages"), pytest="make heavy"),
        Phase("compose", "make test-compose", ("images",), pytest="make test-compose"),
        Phase("test", "make test COVERAGE=1", INSTALL, pytest="make test"),
        Phase(
            "chaos",
            "make chaos SCHEDULES=40 HISTORIES=200 HISTORIES_SEED=1791547198 KILLS=36 PROPERTIES=",
            INSTALL,
        ),
        Phase("audit", "make audit SAMPLES=20000", INSTALL),
        Phase("lint", "make lint", INSTALL),
        Phase("docs", "make test-docs", (*INSTALL, "packages"), pytest="make test-docs"),
        Phase("fuzz", "make fuzz SECONDS=40", INSTALL),
        Phase("mutants", "make mutants MUTANTS='--sample 10'", INSTALL),
        Phase("reproduce", "make reproduce-older SECONDS=300", INSTALL),
        Phase("gpu", "make gpu", INSTALL),
        Phase("roles", "make roles", INSTALL, pytest="make roles"),
        Phase("release", "make release pip-audit", INSTALL),
    )
}
"""In the order in which they begin, as soon as what they need is over: the longest first."""
AT_ONCE = 2
_changed, _printing = threading.Condition(), threading.Lock()


def work() -> None:
    """Run one phase after another until none is left; one whose prerequisite failed is not run."""
    while phase := begun():
        phase.run()
        show(phase)
        with _changed:
            _changed.notify_all()


def begun() -> Phase | None:
    """Return the first phase that can begin, waiting for one if necessary; None once none is left."""
    with _changed:
        while waiting := [phase for phase in PHASES.values() if phase.state == "waiting"]:
            for phase in waiting:
                needed = {PHASES[name].state for name in phase.after}
                if needed <= {"ok", "flaky"}:
                    phase.state = "running"
                    return phase
                if not needed <= {"ok", "flaky", "waiting", "running"}:
                    phase.state = "not run"
                    break
            else:
                _changed.wait()
        return None


def show(phase: Phase) -> None:
    """Print what a phase printed."""
    with _printing:
        print(f"===== {phase.name}: {phase.state}, {phase.seconds:.0f} s", flush=True)
        sys.stdout.buffer.write(phase.log.read_bytes())
        sys.stdout.flush()


def run_waiting() -> None:
    """Run all phases that wait."""
    workers = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()


def run_failed() -> None:
    """Run once more, one at a time, what failed once; then what was not run because of it."""
    while failed := [phase for phase in PHASES.values() if phase.failed and phase.runs == 1]:
        for phase in failed:
            phase.run_again()
            show(phase)
        for phase in PHASES.values():
            if phase.state == "not run":
                phase.state = "waiting"
        run_waiting()


def main() -> int:
    """Run all phases, and print the table."""
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    run_waiting()
    run_failed()
    failed = [phase for phase in PHASES.values() if phase.state not in ("ok", "flaky")]
    for phase in failed:
        if phase.log.exists():
            print(f"===== the end of {phase.name}")
            print("\n".join(phase.log.read_text(errors="replace").splitlines()[-TAIL:]))
    print(f"\n{'phase':<12}{'seconds':>8}{'processor':>11}  state")
    for phase in PHASES.values():
        print(f"{phase.name:<12}{phase.seconds:8.0f}{phase.processor_s:11.0f}  {phase.state}")
    used, state = sum(phase.processor_s for phase in PHASES.values()), "failed" if failed else "ok"
    print(f"{'all':<12}{time.monotonic() - began:8.0f}{used:11.0f}  {state}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
