"""Progress bars on stderr, or in a notebook."""

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ostraka.common.telemetry.notebook import NotebookProgress, show_in_cell


def progress() -> Progress:
    """Return a display of progress below a notebook's cell, else on stderr, silent without a terminal."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    if console.is_jupyter:
        return NotebookProgress(*columns, show=show_in_cell())
    return Progress(*columns, console=console, disable=not console.is_terminal)
