"""Progress bars on stderr, or in a notebook."""

import time
from collections.abc import Callable
from io import StringIO
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

WIDTH = 88
"""Characters per line; a notebook does not say how many it can show."""
EVERY_S = 0.2
"""Minimum time between two updates, in seconds."""

Show = Callable[[str], None]
"""Shows text in place of the previous text."""


class NotebookProgress(Progress):
    """Progress bars that are redrawn with `show`, at most every `EVERY_S` seconds."""

    def __init__(
        self, *columns: str | ProgressColumn, show: Show, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Take columns of rich, a function that shows text, and a clock in seconds; nothing is shown yet."""
        console = Console(file=StringIO(), width=WIDTH, color_system=None, force_jupyter=False)
        super().__init__(*columns, console=console, auto_refresh=False)
        self._show = show
        self._now = now
        self._shown = -EVERY_S

    def start(self) -> None:
        """Do nothing until the first task."""

    def stop(self) -> None:
        """Show the final state."""
        self.refresh()

    def refresh(self) -> None:
        """Show the current state of all bars, if there are any."""
        if not self.tasks:
            return
        with self.console.capture() as text:
            self.console.print(self.get_renderable())
        self._shown = self._now()
        self._show("\n".join(line.rstrip() for line in text.get().splitlines()))

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Change a task, and show it unless the last update is very recent."""
        super().update(task_id, **changes)
        if self._now() >= self._shown + EVERY_S:
            self.refresh()


def show_in_cell() -> Show:
    """Return a function that shows plain text below the running cell."""
    from IPython.display import display

    handles: list[Any] = []

    def show(text: str) -> None:
        if handles:
            handles[0].update({"text/plain": text}, raw=True)
        else:
            handles.append(display({"text/plain": text}, raw=True, display_id=True))  # type: ignore[no-untyped-call]

    return show


def progress() -> Progress:
    """Return a progress display: below a notebook's cell, else on stderr, and silent without a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    if console.is_jupyter:
        return NotebookProgress(*columns, show=show_in_cell())
    return Progress(*columns, console=console, disable=not console.is_terminal)
