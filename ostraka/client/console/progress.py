"""Progress bars: queries of the run, steps of the current batch, and steps of trainings."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, TaskID

from ostraka.client.console.progress_lines import ProgressLines, TrainingLines
from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter
from ostraka.common.telemetry import progress


class Bars:
    """A bar for the labelling, and one for each step of a batch as it is first begun."""

    def __init__(self, display: Progress) -> None:
        """Take the display; nothing is shown yet."""
        self._display = display
        self._tasks: dict[str, TaskID] = {}

    def labelled(self, result: LabelResult) -> None:
        """Show how many queries are settled."""
        description = f"{result.answered} answered"
        self._update("labelling", result.asked, result.queries, description)

    def stepped(self, progress: meter.StepProgress) -> None:
        """Show how far a step of the current batch is."""
        self._update(progress.step, progress.done, progress.total, progress.step)

    def _update(self, name: str, done: int, total: int, description: str) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._display.add_task(name, total=total)
        self._display.update(self._tasks[name], completed=done, total=total, description=description)


class TrainingBars:
    """A bar for each training of a student as it is first begun."""

    def __init__(self, display: Progress) -> None:
        """Take the display; nothing is shown yet."""
        self._display = display
        self._tasks: dict[str, TaskID] = {}

    def trained(self, name: str, done: int, total: int) -> None:
        """Show how far a training is."""
        if name not in self._tasks:
            self._tasks[name] = self._display.add_task(f"training: {name}", total=total)
        self._display.update(self._tasks[name], completed=done, total=total)


class RoundBars(TrainingBars):
    """Bars of rounds: of each its labelling, and its trainings."""

    def labelled(self, number: int, result: LabelResult) -> None:
        """Show how many queries of a round are settled."""
        name = f"round {number}: labels"
        if name not in self._tasks:
            self._tasks[name] = self._display.add_task(name, total=result.queries)
        self._display.update(self._tasks[name], completed=result.asked)


@contextmanager
def labelling_progress() -> Iterator[Bars | ProgressLines]:
    """Show how far a labelling is: as bars on a terminal or in a notebook, else as lines."""
    with progress() as display:
        yield ProgressLines() if display.disable else Bars(display)


@contextmanager
def training_progress() -> Iterator[TrainingBars | TrainingLines]:
    """Show how far trainings are: as bars on a terminal or in a notebook, else as lines."""
    with progress() as display:
        yield TrainingLines() if display.disable else TrainingBars(display)
