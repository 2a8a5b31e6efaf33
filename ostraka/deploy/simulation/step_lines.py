"""Steps of a simulation as lines, where there is no terminal for bars."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ostraka.client.console.progress_lines import ProgressLines, TrainingLines, write_line


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
