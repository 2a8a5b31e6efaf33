"""Progress below a notebook's cell: text that is replaced, not too often, and as it ended."""

import pytest
from rich.progress import MofNCompleteColumn, TextColumn

from ostraka.common.telemetry.progress import EVERY_S, NotebookProgress


class Cell:
    """What was shown, newest last, at a time that stands still until it is moved."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.now = 0.0

    def progress(self) -> NotebookProgress:
        columns = (TextColumn("{task.description}"), MofNCompleteColumn())
        return NotebookProgress(*columns, show=self.shown.append, now=lambda: self.now)


@pytest.fixture
def cell() -> Cell:
    return Cell()


def test_every_task_is_a_line_and_the_last_text_says_how_it_ended(cell: Cell) -> None:
    with cell.progress() as progress:
        first = progress.add_task("train", total=2)
        progress.add_task("label", total=3)
        progress.update(first, completed=2)
    assert cell.shown[-1] == "train 2/2\nlabel 0/3"


def test_it_is_replaced_only_now_and_then(cell: Cell) -> None:
    with cell.progress() as progress:
        task = progress.add_task("label", total=100)
        for done in range(50):
            progress.update(task, completed=done)
        assert cell.shown == ["label   0/100"]
        cell.now += EVERY_S
        progress.update(task, completed=50)
        assert cell.shown[1:] == ["label  50/100"]


def test_a_display_without_tasks_shows_nothing(cell: Cell) -> None:
    with cell.progress():
        pass
    assert not cell.shown
