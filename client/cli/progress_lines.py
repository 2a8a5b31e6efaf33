"""Progress of a labelling as lines now and then, where there is no terminal for bars."""

import time
from collections.abc import Callable

import typer

from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter

EVERY_S = 30.0


def _write(line: str) -> None:
    typer.echo(line, err=True)


class ProgressLines:
    """Writes how far a labelling is: at its first batch, then every `EVERY_S` seconds at most."""

    def __init__(
        self, write: Callable[[str], None] = _write, now: Callable[[], float] = time.monotonic
    ) -> None:
        """Take what writes a line, and a clock in seconds; nothing is written yet."""
        self._write = write
        self._now = now
        self._begun: tuple[float, int] | None = None
        self._told = 0.0

    def labelled(self, result: LabelResult) -> None:
        """Tell how many queries are settled, and how long the rest will take at this pace."""
        now = self._now()
        if self._begun is None:
            self._begun = (now, result.asked)
        elif now < self._told + EVERY_S:
            return
        self._told = now
        left = self._left_text(now, result)
        self._write(f"{result.asked} of {result.queries} queries settled, {result.answered} answered{left}.")

    def stepped(self, progress: meter.StepProgress) -> None:
        """Tell nothing of the steps of a batch."""

    def _left_text(self, now: float, result: LabelResult) -> str:
        began, first = self._begun or (now, result.asked)
        done = result.asked - first
        if done <= 0 or now <= began:
            return ""
        minutes = (now - began) / done * (result.queries - result.asked) / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"
