"""What a simulation prints: its steps as they run, and at the end a table."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.table import Table

from client.labelling import LabelResult
from deploy.simulation.report import Report


class ProgressSteps:
    """Shows steps, and the pool's queries as they are answered."""

    def __init__(self, display: Progress, queries: int) -> None:
        """Take a started display and the size of the pool."""
        self._display = display
        self._queries = queries
        self._current: TaskID | None = None

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Show a step while its block runs."""
        task = self._display.add_task(step, total=1)
        self._current = task
        yield
        self._display.update(task, total=1, completed=1)

    def labelled(self, result: LabelResult) -> None:
        """Show how far the current step, labelling, has come."""
        if self._current is not None:
            self._display.update(self._current, total=self._queries, completed=result.asked)


def show(report: Report, page: Path) -> None:
    """Print what was gained, every party's epsilon in both notions, and where the report is."""
    console = Console()
    settings = report.settings
    direction = ", one direction" if report.bound == "theorem6" else ""
    table = Table(
        "party",
        f"data-dependent ({report.bound}{direction})",
        "worst-case",
        "budget",
        title=f"Epsilon at delta {settings.delta:g}, enforced: {report.enforce}",
    )
    for unit in report.units:
        epsilons = (unit.epsilon_data_dependent, unit.epsilon_worst_case)
        table.add_row(unit.party, *(f"{value:.3f}" for value in epsilons), f"{unit.epsilon_budget:g}")
    console.print(table)
    right = "" if report.label_accuracy is None else f", {report.label_accuracy:.1%} of them right"
    early = f"; the session ended after {report.asked}" if report.ended_early else ""
    console.print(f"Answered {report.answered} of {report.queries} queries{right}{early}.")
    console.print(
        f"Student accuracy {report.student_accuracy_before:.3f} before, {report.student_accuracy_after:.3f} "
        f"after; {sum(report.seconds.values()):.1f} s in all."
    )
    console.print(f"Report: {page}", soft_wrap=True)
