"""The measurements, as a Markdown table."""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.students.cells import Cell

_HEAD = (
    "student",
    "epsilon (data-dependent)",
    "worst case",
    "asked",
    "labels",
    "right",
    "student accuracy",
    "seeds",
    "seconds",
    "of one core",
)
_MEANS = ("worst_case", "asked", "answered", "correct", "seconds", "processor")


def table(cells: Iterable[Cell]) -> str:
    """Return a row for each budget and student, with means and, for accuracy, the deviation over seeds."""
    groups = defaultdict(list)
    for cell in cells:
        groups[cell.budget, cell.student].append(cell)
    rows = [_row(group) for group in groups.values()]
    return "\n".join(_line(cells) for cells in (_HEAD, ["---"] * len(_HEAD), *rows))


def _row(cells: Sequence[Cell]) -> list[str]:
    mean = {name: _mean(cells, name) for name in _MEANS}
    accuracies = np.array([cell.accuracy for cell in cells])
    deviation = f" ± {accuracies.std(ddof=1):.2%}" if len(cells) > 1 else ""
    return [
        cells[0].student,
        f"{max(cell.epsilon for cell in cells):.3f} of {cells[0].budget:.3f}",
        f"{mean['worst_case']:.1f}",
        f"{mean['asked']:.0f}",
        f"{mean['answered']:.0f}",
        f"{mean['correct']:.1%}",
        f"{accuracies.mean():.2%}{deviation}",
        f"{len(cells)}",
        f"{mean['seconds']:.0f}",
        f"{mean['processor']:.0f}",
    ]


def _mean(cells: Sequence[Cell], name: str) -> float:
    return float(np.mean([getattr(cell, name) for cell in cells]))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"
