"""Steps of a simulation as lines, where there is no terminal for bars."""

from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.client.cli.progress_lines import ProgressLines


class StepLines(ProgressLines):
    """Writes each step as it begins, and now and then how far labelling is."""

    @contextmanager
    def announce(self, step: str) -> Iterator[None]:
        """Write a step while its block runs, and begin to count queries anew."""
        self._begun = None
        self._write(f"{step[0].upper()}{step[1:]} ...")
        yield
