"""Run every check in three lanes side by side, and tell how long each took; end with 1 where one failed.

What a phase prints goes to build/ci/NAME.log, and to the terminal when the phase is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

LOGS = Path("build/ci")
PACKAGES = r"""
missing=
for needed in chromium:chromium debootstrap:debootstrap dockerd:docker.io docker-compose:docker-compose; do
    command -v "${needed%:*}" > /dev/null || missing="$missing ${needed#*:}"
done
[ -z "$missing" ] && exit
export DEBIAN_FRONTEND=noninteractive
apt-get update -q && apt-get install -q --yes --no-install-recommends $missing
"""
"""Installs Debian's package of every program that is missing."""
ENVIRONMENT = {"OSTRAKA_NO_SKIP": "1", "PYTEST_ADDOPTS": "--durations=20 --durations-min=1"}
TAIL = 60
"""Lines of a failed phase that are printed once more at the end."""


@dataclass
class Phase:
    """A command, and what must have succeeded before it."""

    name: str
    command: str
    after: tuple[str, ...] = ()
    state: str = "not run"
    seconds: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def log(self) -> Path:
        """Where its output goes."""
        return LOGS / f"{self.name}.log"

    def run(self) -> None:
        """Run the command to its end."""
        began = time.monotonic()
        with self.log.open("wb") as output:
            status = subprocess.run(
                ["/bin/bash", "-c", self.command],
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | ENVIRONMENT,
            ).returncode
        self.seconds = time.monotonic() - began
        self.state = "ok" if status == 0 else f"failed ({status})"


INSTALL = ("install",)
LANES = (
    (
        Phase("install", "make install"),
        Phase("lint", "make lint", INSTALL),
        Phase("test", "make test", INSTALL),
        Phase("heavy", "make heavy", (*INSTALL, "packages")),
    ),
    (
        Phase("packages", PACKAGES),
        Phase("images", ".venv/bin/python -m tests.compose.engine", (*INSTALL, "packages")),
        Phase("sbom", "make sbom pip-audit", INSTALL),
        Phase("compose", "make test-compose", ("images",)),
        Phase("coverage", "make coverage", INSTALL),
    ),
    (
        Phase("fuzz", "make fuzz", ("test",)),
        Phase("mutants", "make mutants MUTANTS='--sample 12'", INSTALL),
        Phase("audit", "make audit", INSTALL),
        Phase("chaos", "make chaos", INSTALL),
    ),
)
"""What pytest runs on every core; what downloads and waits; and what begins when the fast tests are over."""
PHASES = {phase.name: phase for lane in LANES for phase in lane}
_printing = threading.Lock()


def follow(lane: tuple[Phase, ...]) -> None:
    """Run the phases of a lane, one after another; one whose prerequisite failed is not run."""
    for phase in lane:
        for name in phase.after:
            PHASES[name].over.wait()
        if all(PHASES[name].state == "ok" for name in phase.after):
            phase.run()
            show(phase)
        phase.over.set()


def show(phase: Phase) -> None:
    """Print what a phase printed."""
    with _printing:
        print(f"===== {phase.name}: {phase.state}, {phase.seconds:.0f} s", flush=True)
        sys.stdout.buffer.write(phase.log.read_bytes())
        sys.stdout.flush()


def main() -> int:
    """Run the lanes, and print the table."""
    LOGS.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    lanes = [threading.Thread(target=follow, args=(lane,)) for lane in LANES]
    for lane in lanes:
        lane.start()
    for lane in lanes:
        lane.join()
    failed = [phase for phase in PHASES.values() if phase.state != "ok"]
    for phase in failed:
        if phase.log.exists():
            print(f"===== the end of {phase.name}")
            print("\n".join(phase.log.read_text(errors="replace").splitlines()[-TAIL:]))
    print(f"\n{'phase':<12}{'seconds':>8}  state")
    for phase in PHASES.values():
        print(f"{phase.name:<12}{phase.seconds:8.0f}  {phase.state}")
    print(f"{'all':<12}{time.monotonic() - began:8.0f}  {'failed' if failed else 'ok'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
