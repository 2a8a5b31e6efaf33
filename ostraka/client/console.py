"""Progress of labelling and training: bars in a terminal, and occasional lines elsewhere."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer
from rich.progress import Progress, TaskID

from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter
from ostraka.common.console.texts import count_text
from ostraka.common.telemetry import progress

EVERY_S = 30.0


def write_line(line: str) -> None:
    """Write a line to stderr."""
    typer.echo(line, err=True)


class ProgressLines:
    """Writes the progress of a labelling from its first batch, and the remaining time of long trainings.

    Each is repeated at most every `EVERY_S` seconds; short trainings are not mentioned.
    """

    def __init__(
        self, write: Callable[[str], None] = write_line, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._write = write
        self._now = now
        self._begun: tuple[float, int] | None = None
        self._told = 0.0
        self._training_begun: dict[str, tuple[float, int]] = {}
        self._training_told: dict[str, float] = {}

    def labelled(self, result: LabelResult) -> None:
        """Write how many queries are settled, and the remaining time at this pace."""
        now = self._now()
        if self._begun is None:
            self._begun = (now, result.asked)
        elif now < self._told + EVERY_S:
            return
        self._told = now
        left = self._remaining_text(now, result)
        queries = count_text(result.queries, "query", "queries")
        self._write(f"{result.asked} of {queries} settled, {result.answered} answered{left}.")

    def stepped(self, progress: meter.StepProgress) -> None:
        """Do nothing: the steps of a batch are not reported."""

    def show_sums(self, done: int, total: int) -> None:
        """Write the number of released sums, every `EVERY_S` seconds."""
        now = self._now()
        if done < total and now >= self._told + EVERY_S:
            self._told = now
            self._write(f"{done} of {count_text(total, 'sum')} released.")

    def labelled_in_round(self, number: int, result: LabelResult) -> None:
        """Do nothing: a round has few labels, and most of its time is training."""

    def _remaining_text(self, now: float, result: LabelResult) -> str:
        began, first = self._begun or (now, result.asked)
        done = result.asked - first
        if done <= 0 or now <= began:
            return ""
        minutes = (now - began) / done * (result.queries - result.asked) / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"

    def trained(self, name: str, done: int, total: int) -> None:
        """Write the remaining time of a training if it is over a minute, every `EVERY_S` seconds.

        The pace is measured from the first report, because the first steps are slower.
        """
        now = self._now()
        began, first = self._training_begun.setdefault(name, (now, done))
        if done == first or now < self._training_told.get(name, began - EVERY_S) + EVERY_S:
            return
        minutes = (now - began) / (done - first) * (total - done) / 60
        if minutes >= 1:
            self._training_told[name] = now
            self._write(f"Training {name}: {done} of {total} steps, about {minutes:.0f} min left.")


class Bars:
    """A bar for the labelling, and one for each step of a batch and each training, added on its first
    report."""

    def __init__(self, display: Progress) -> None:
        self._display = display
        self._tasks: dict[str, TaskID] = {}

    def labelled(self, result: LabelResult) -> None:
        """Show how many queries are settled."""
        description = f"{result.answered} answered"
        self._update("labelling", result.asked, result.queries, description=description)

    def stepped(self, progress: meter.StepProgress) -> None:
        """Show the progress of a step of the current batch."""
        self._update(progress.step, progress.done, progress.total)

    def trained(self, name: str, done: int, total: int) -> None:
        """Show the progress of a student's training."""
        self._update(f"training: {name}", done, total)

    def show_sums(self, done: int, total: int) -> None:
        """Show how many sums were released."""
        self._update("sums", done, total)

    def labelled_in_round(self, number: int, result: LabelResult) -> None:
        """Show how many queries of a round are settled."""
        self._update(f"round {number}: labels", result.asked, result.queries)

    def _update(self, name: str, done: int, total: int, description: str | None = None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._display.add_task(name, total=total)
        self._display.update(self._tasks[name], completed=done, total=total, description=description or name)


@contextmanager
def show_progress() -> Iterator[Bars | ProgressLines]:
    """Show the progress of labelling and trainings: as bars on a terminal or in a notebook, else as lines."""
    with progress() as display:
        yield ProgressLines() if display.disable else Bars(display)
