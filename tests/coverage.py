"""How much of each package the fast tests run, compared with a minimum: `make test COVERAGE=1`.

A package up to `SLACK` below its minimum is listed but does not fail, because which lines run depends
slightly on the order of threads.

Code that runs only in child processes or in `make heavy` is not counted, so packages with mostly such code
have a lower minimum, and a reason here.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

FLOOR = 92.0
"""Percentage of lines and branches together, for every package that is not named below."""


SLACK = 2.0
"""Percentage points below a minimum that only warn."""


@dataclass(frozen=True)
class Lower:
    """A lower minimum than the others', and why."""

    percent: float
    reason: str


_SESSIONS = "whole sessions are heavy"
_SEARCHES = "searches and plots are heavy"
_CHILDREN = "runs in processes of its own"
LOWER: Mapping[str, Lower] = {
    "client": Lower(90, "retraining students is heavy"),
    "client.cli": Lower(76, _SESSIONS),
    "client.describing": Lower(80, _SESSIONS),
    "client.fitting": Lower(73, _SESSIONS),
    "client.report": Lower(72, "drawing is heavy"),
    "client.rounds": Lower(78, _SESSIONS),
    "client.training": Lower(50, _SESSIONS),
    "common.planning": Lower(80, _SEARCHES),
    "common.relay": Lower(82, _CHILDREN),
    "deploy": Lower(80, _CHILDREN),
    "deploy.advice": Lower(50, "trying every way is heavy"),
    "deploy.images": Lower(42, "make targets and `make test-compose` run it"),
    "deploy.reference": Lower(82, "building the site is heavy"),
    "deploy.release": Lower(70, "`make release` runs it"),
    "deploy.simulation": Lower(75, _CHILDREN),
    "guardian.commands": Lower(86, _CHILDREN),
    "guardian.dashboard": Lower(76, _CHILDREN),
    "guardian.figures": Lower(65, _CHILDREN),
    "guardian.planning": Lower(76, _SEARCHES),
    "services.commands": Lower(74, _CHILDREN),
    "services.encrypted": Lower(82, _CHILDREN),
}


@dataclass
class Covered:
    """Lines and branches of a package, and how many of them ran."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    @property
    def percent(self) -> float:
        """Percentage of lines and branches together."""
        counted = self.lines + self.branches
        return 100 * (self.lines_run + self.branches_run) / counted if counted else 100.0

    def add(self, lines: int, lines_run: int, branches: int, branches_run: int) -> None:
        """Count a file."""
        self.lines += lines
        self.lines_run += lines_run
        self.branches += branches
        self.branches_run += branches_run


def package_of(file: str) -> str:
    """Return the package, at most two levels below `ostraka`, that a file is in."""
    return ".".join(Path(file).parent.parts[1:3]) or "ostraka"


def measured() -> dict[str, Covered]:
    """Return what the tests of this process and its workers ran, by package."""
    from tests.line_counter import counted  # pytest has imported it by now, and must be the first to do so

    packages: dict[str, Covered] = defaultdict(Covered)
    for file, found in sorted(counted().items()):
        packages[package_of(file)].add(**found)
    return dict(packages)


def main() -> int:
    """Run the tests and print the table; not 0 if a test fails or a package is too far below its minimum."""
    if status := pytest.main(["-p", "tests.line_counter"]):
        return int(status)
    table = Table("package", "lines", "branches", "%", "floor", "why lower")
    below: dict[str, float] = {}
    for package, found in measured().items():
        lower = LOWER.get(package, Lower(FLOOR, ""))
        if found.percent < lower.percent:
            below[package] = lower.percent - found.percent
        lines, branches = (
            f"{ran:,} of {all_:,}"
            for ran, all_ in ((found.lines_run, found.lines), (found.branches_run, found.branches))
        )
        table.add_row(package, lines, branches, f"{found.percent:.1f}", f"{lower.percent:.0f}", lower.reason)
    Console(width=150).print(table)
    if below:
        print(f"Below the floor: {', '.join(below)}. Test what is new, or say in tests/coverage.py why not.")
    return 1 if is_failing(below.values()) else 0


def is_failing(below: Iterable[float]) -> bool:
    """Whether a package is further below its minimum than a warning allows, in percentage points."""
    return any(points > SLACK for points in below)


if __name__ == "__main__":
    sys.exit(main())
