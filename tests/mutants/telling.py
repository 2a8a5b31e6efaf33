"""Results of planted faults, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from rich.table import Table
from rich.text import Text

from tests.mutants.planting import Trial


def as_table(trials: Sequence[Trial]) -> Table:
    """Return a table with a row for each fault."""
    table = Table("fault", "rule", "killed by", "seconds")
    for trial in trials:
        ended = Text(trial.killed_by, overflow="fold")
        if trial.problem:
            ended = Text(trial.problem.splitlines()[0], style="red")
        table.add_row(trial.fault.name, trial.fault.rule, ended, f"{trial.seconds:.1f}")
    return table


def summary(trials: Sequence[Trial]) -> str:
    """Return how many were killed, of how many, and in which folders of tests."""
    killed = [trial for trial in trials if not trial.problem]
    folders = Counter("/".join(PurePosixPath(trial.killed_by).parts[1:3]) for trial in killed)
    lines = [f"{folder:<28}{count:4}" for folder, count in sorted(folders.items())]
    seconds = sum(trial.seconds for trial in trials)
    lines.append(f"{len(killed)} of {len(trials)} faults killed, in {seconds:.0f} s of processor time")
    lines += [f"SURVIVED {trial.fault.name}: {trial.fault.rule}" for trial in trials if trial.problem]
    return "\n".join(lines)
