"""Terminal output of a simulation: its steps as they run, as bars or lines, and a table at the end."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress, TaskID
from rich.table import Table

from ostraka.client.console import Bars, ProgressLines, TrainingBars, TrainingLines, write_line
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter
from ostraka.client.students.dp_sgd.guarantee import dp_sgd_words
from ostraka.common.console.screen import Screen
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.deploy.simulation.quality import METRICS, LabelCount, QuerierQuality
from ostraka.deploy.simulation.report import (
    SimulationReport,
    bound_words,
    guarantee_words,
    headline,
    notion,
    promise_words,
    split_sentence,
    switch_words,
    training_words,
    warnings,
)


class ProgressSteps:
    """Shows steps, and the pool's queries as they are answered."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._current: TaskID | None = None
        self._step = ""
        self._bars = Bars(display)
        self.trained = TrainingBars(display).trained

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Show a step while its block runs."""
        task = self._display.add_task(step, total=1)
        self._current = task
        self._step = step
        yield
        self._display.update(task, total=1, completed=1)

    def labelled(self, result: LabelResult) -> None:
        """Show how far the current step, labelling, has come."""
        if self._current is not None:
            self._display.update(self._current, total=result.queries, completed=result.asked)

    def stepped(self, progress: meter.StepProgress) -> None:
        """Show how far the current step is, or a step of the current batch within it."""
        if self._current is not None and progress.step == self._step:
            self._display.update(self._current, total=progress.total, completed=progress.done)
        else:
            self._bars.stepped(progress)


def show(report: SimulationReport, page: Path) -> None:
    """Print what was gained, every party's epsilon in both notions, and where the report is."""
    console = Screen()
    settings = report.settings
    table = Table(
        "unit",
        f"{notion(report.bound)} ({bound_words(report.bound)})",
        "worst-case",
        "budget",
        title=f"Epsilon ({promise_words(report.guarantee)}) at delta {number_text(settings.budgets.delta)}, "
        f"enforced: {report.enforce}",
    )
    for unit in report.units:
        epsilons = (unit.epsilon_data_dependent, unit.epsilon_worst_case)
        table.add_row(unit.name, *map(epsilon_text, epsilons), f"{unit.epsilon_budget:g}")
    console.print(table)
    if report.labels:
        console.print(_labels(report.labels))
    right = "" if report.label_accuracy is None else f", {report.label_accuracy:.1%} of the labels right"
    early = f"; the session ended after {report.asked}" if report.ended_early else ""
    console.print(f"{switch_words(report).capitalize()}.")
    if report.training is not None:
        console.print(training_words(report.training))
    console.print(split_sentence(report))
    for note in report.notes:
        console.print(f"Note: {note}")
    for warning in warnings(report):
        console.print(f"Warning: {warning}")
    console.print(f"Answered {report.answered} of {report.queries} queries{right}{early}.")
    if report.by_student:
        console.print(f"The student labelled {report.by_student} of the others itself.")
    if report.implied:
        console.print(f"{report.implied} labels were not asked because others imply that they are absent.")
    console.print(f"{headline(report)} {sum(report.seconds.values()):.1f} s in all.")
    console.print(_quality(report))
    if report.turns:
        console.print(_turns(report.turns))
    if report.rounds:
        console.print(_rounds(report))
    console.print(guarantee_words(report.guarantee, report.mechanism))
    if report.student_guarantee is not None:
        console.print(dp_sgd_words(asdict(report.student_guarantee)))
    console.print(f"Report: {page}", soft_wrap=True)


def _quality(report: SimulationReport) -> Table:
    table = Table(f"student ({report.student})", *METRICS.values(), title="On test records")
    for name, metrics in report.quality.rows:
        table.add_row(name, *(_share(getattr(metrics, metric)) for metric in METRICS))
    return table


def _turns(turns: Iterable[QuerierQuality]) -> Table:
    columns = ("own records", "answered", "balanced accuracy before", "after", "mAP before", "after")
    table = Table("querying party", *columns, title="In turn, the weakest first")
    for turn in turns:
        shares = [(each.balanced_accuracy, each.map) for each in (turn.before, turn.after)]
        cells = [_share(value) for metric in zip(*shares, strict=True) for value in metric]
        table.add_row(turn.party, str(turn.labelled), f"{turn.answered} of {turn.queries}", *cells)
    return table


def _rounds(report: SimulationReport) -> Table:
    worst = f"worst-case epsilon so far ({promise_words(report.guarantee)})"
    columns = ("mechanism", "answered", "by the student", worst, "accuracy", "balanced accuracy")
    table = Table("round", *columns, title="In rounds")
    for one in report.rounds:
        counts = (
            f"{one.answered} of {one.queries}",
            str(one.by_student),
            epsilon_text(one.epsilon_worst_case),
        )
        shares = (_share(one.accuracy), _share(one.balanced_accuracy))
        table.add_row(str(one.round), one.mechanism, *counts, *shares)
    return table


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _labels(counts: Iterable[LabelCount]) -> Table:
    table = Table("label", "answered", "accuracy", "balanced accuracy", title="Released labels")
    for count in counts:
        shares = (count.accuracy, count.balanced_accuracy)
        table.add_row(count.name, str(count.right + count.wrong), *map(_share, shares))
    return table


class StepLines(ProgressLines):
    """Writes each step as it begins, and now and then how far labelling, or a student's training, is."""

    def __init__(
        self, write: Callable[[str], None] = write_line, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Take what writes a line, and a clock in seconds; nothing is written yet."""
        super().__init__(write, now)
        self.trained = TrainingLines(write, now).trained

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Write a step while its block runs, and begin to count queries anew."""
        self._begun = None
        self._write(f"{step[0].upper()}{step[1:]} ...")
        yield
