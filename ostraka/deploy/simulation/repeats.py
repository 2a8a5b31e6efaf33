"""The same simulation with several seeds, and the variation of its figures."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.table import Table

from ostraka.common.console.screen import table_of
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.report import SimulationReport
from ostraka.deploy.simulation.settings import Settings

FIGURES = {
    "answered": "queries answered",
    "label_accuracy": "labels right",
    "label_balanced_accuracy": "labels right, over all classes alike",
    "student_accuracy_before": "student, own data alone",
    "student_accuracy_after": "student, with released labels",
    "student_balanced_accuracy_before": "balanced accuracy, own data alone",
    "student_balanced_accuracy_after": "balanced accuracy, with released labels",
}
"""Figures of a report that repeats summarise, with their displayed names."""


class Spread(FrozenModel):
    """A figure over all repeats; None if no repeat has it."""

    mean: float | None
    deviation: float | None
    least: float | None
    most: float | None

    def cells(self, digits: int) -> Sequence[str]:
        """Return the numbers as text."""
        values = (self.mean, self.deviation, self.least, self.most)
        return ["-" if value is None else f"{value:.{digits}f}" for value in values]


class Repeats(FrozenModel):
    """The results of all repeats, by figure; each one's report is in its own folder."""

    seeds: tuple[int, ...]
    figures: dict[str, Spread]


def repeat(
    settings: Settings, folder: Path, times: int, run: Callable[[Settings, Path], SimulationReport]
) -> Repeats:
    """Simulate with consecutive seeds from the settings' on, each in folder/seed-N; summarise the reports."""
    seeds = tuple(range(settings.records.seed, settings.records.seed + times))
    reports = [run(settings.model_copy(update={"seed": seed}), folder / f"seed-{seed}") for seed in seeds]
    figures = {name: _spread([getattr(report, name) for report in reports]) for name in FIGURES}
    return Repeats(seeds=seeds, figures=figures)


def figures_table(repeats: Repeats) -> Table:
    """Return a table of the figures' means, standard deviations and ranges."""
    digits = {name: 1 if name == "answered" else 3 for name in FIGURES}
    rows = ((label, *repeats.figures[name].cells(digits[name])) for name, label in FIGURES.items())
    head = ("figure", "mean", "deviation", "least", "most")
    return table_of(head, rows, f"{len(repeats.seeds)} repeats")


def _spread(values: Sequence[float | None]) -> Spread:
    known = np.array([value for value in values if value is not None], np.float64)
    if not len(known):
        return Spread(mean=None, deviation=None, least=None, most=None)
    deviation = float(known.std(ddof=1)) if len(known) > 1 else None
    return Spread(
        mean=float(known.mean()), deviation=deviation, least=float(known.min()), most=float(known.max())
    )
