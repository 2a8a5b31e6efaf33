"""Terminal output of a simulation: its steps as they run, as bars or lines, and a table at the end."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.progress import Progress, TaskID
from rich.table import Table

from ostraka.client.console import Bars, ProgressLines
from ostraka.client.fitting.tables import NUMBER_HEAD
from ostraka.client.report.tables import rounds_table
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter
from ostraka.client.students.dp_sgd.guarantee import dp_sgd_words
from ostraka.common.console.screen import Screen, table_of
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.learning.accuracy import METRICS, share
from ostraka.deploy.simulation.number_quality import NumberQuality, number_rows
from ostraka.deploy.simulation.quality import LabelCount, QuerierQuality, quality_rows
from ostraka.deploy.simulation.report import (
    SimulationReport,
    advise,
    bound_words,
    guarantee_words,
    headline,
    model_words,
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
        self.trained = self._bars.trained

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Show a step while its block runs."""
        task = self._display.add_task(step, total=1)
        self._current = task
        self._step = step
        yield
        self._display.update(task, total=1, completed=1)

    def labelled(self, result: LabelResult) -> None:
        """Show the progress of the current step, labelling."""
        if self._current is not None:
            self._display.update(self._current, total=result.queries, completed=result.asked)

    def stepped(self, progress: meter.StepProgress) -> None:
        """Show the progress of the current step, or of a step within its current batch."""
        if self._current is not None and progress.step == self._step:
            self._display.update(self._current, total=progress.total, completed=progress.done)
        else:
            self._bars.stepped(progress)


def show(report: SimulationReport, page: Path) -> None:
    """Print the gain, every party's epsilon in both notions, and where the report is."""
    console = Screen()
    console.print(_units(report))
    if report.labels:
        console.print(_labels(report.labels))
    right = "" if report.label_accuracy is None else f", {report.label_accuracy:.1%} of the labels right"
    early = f"; the session ended after {report.asked}" if report.ended_early else ""
    if report.queries:
        console.print(f"{switch_words(report).capitalize()}.")
    if report.training is not None:
        console.print(training_words(report.training))
    console.print(split_sentence(report))
    for note in report.notes:
        console.print(f"Note: {note}")
    for warning in warnings(report):
        console.print(f"Warning: {warning}")
    if report.queries:
        console.print(f"Answered {report.answered} of {report.queries} queries{right}{early}.")
    if report.by_student:
        console.print(f"The student labelled {report.by_student} of the others itself.")
    if report.implied:
        console.print(f"{report.implied} labels were not asked because others imply them.")
    console.print(f"{headline(report)} {sum(report.seconds.values()):.1f} s in all.")
    console.print(_quality(report))
    if report.quality.model is not None and report.quality.model.asked:
        console.print(model_words(report.quality.model))
    if report.turns:
        console.print(_turns(report.turns))
    if report.rounds:
        rounds = [one.model_dump() for one in report.rounds]
        console.print(rounds_table(rounds, promise_words(report.guarantee)))
    console.print(guarantee_words(report.guarantee, report.mechanism))
    if report.student_guarantee is not None:
        console.print(dp_sgd_words(asdict(report.student_guarantee)))
    console.print(f"Report: {page}", soft_wrap=True)
    if told := advise(report):
        console.print(told, soft_wrap=True)


def _units(report: SimulationReport) -> Table:
    title = (
        f"Epsilon ({promise_words(report.guarantee)}) at delta "
        f"{number_text(report.settings.budgets.delta)}, enforced: {report.enforce}"
    )
    rows = (
        (
            unit.name,
            epsilon_text(unit.epsilon_data_dependent),
            epsilon_text(unit.epsilon_worst_case),
            f"{unit.epsilon_budget:g}",
        )
        for unit in report.units
    )
    by_votes = f"{notion(report.bound)} ({bound_words(report.bound)})"
    return table_of(("unit", by_votes, "worst-case", "budget"), rows, title)


def _quality(report: SimulationReport) -> Table:
    if isinstance(report.quality, NumberQuality):
        return table_of(("model", *NUMBER_HEAD), number_rows(report.quality), "On test records")
    head = (f"student ({report.student})" if report.queries else "model", *METRICS.values())
    return table_of(head, quality_rows(report.quality), "On test records")


def _turns(turns: Iterable[QuerierQuality]) -> Table:
    head = (
        *("querying party", "own records", "answered"),
        *("balanced accuracy before", "after", "average precision before", "after"),
    )
    rows = (
        (
            turn.party,
            str(turn.labelled),
            f"{turn.answered} of {turn.queries}",
            *(share(each.balanced_accuracy) for each in (turn.before, turn.after)),
            *(share(each.map) for each in (turn.before, turn.after)),
        )
        for turn in turns
    )
    return table_of(head, rows, "In turn, the weakest first")


def _labels(counts: Iterable[LabelCount]) -> Table:
    rows = (
        (one.name, str(one.right + one.wrong), share(one.accuracy), share(one.balanced_accuracy))
        for one in counts
    )
    return table_of(("label", "answered", "accuracy", "balanced accuracy"), rows, "Released labels")


class StepLines(ProgressLines):
    """Writes each step as it begins, and sometimes the progress of labelling or of a student's training."""

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Write a step while its block runs, and restart the count of queries."""
        self._begun = None
        self._write(f"{step[0].upper()}{step[1:]} ...")
        yield
