"""Balanced accuracy of each label before and after, Figure 2 of Dziedzic et al. 2023."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.capc_multilabel.cells import Retrained
from benchmarks.capc_multilabel.data import EPSILONS

COLOURS = {"binary": "#0072b2", "tau": "#e69f00"}


def plot(cells: Sequence[Retrained], target: Path) -> None:
    """Draw a panel for each dataset, with labels ordered by their balanced accuracy before; write an
    image."""
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    figure = Figure(figsize=(4.5 * len(datasets), 4), layout="constrained")
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(panels, datasets, strict=True):
        _panel(axes, [cell for cell in cells if cell.dataset == dataset])
        axes.set(title=dataset, xlabel="labels, the worst first")
    panels[0].set_ylabel(f"balanced accuracy, %, epsilon {max(EPSILONS):g}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, dpi=120)


def _panel(axes: Axes, cells: Sequence[Retrained]) -> None:
    before = _by_label(cells, "labels_before")
    order = np.argsort(before)
    axes.plot(before[order], "k.", label="before")
    for mechanism in dict.fromkeys(cell.mechanism for cell in cells):
        after = _by_label([cell for cell in cells if cell.mechanism == mechanism], "labels_after")
        axes.plot(after[order], "_", color=COLOURS[mechanism], markersize=7, label=f"after, {mechanism}")


def _by_label(cells: Sequence[Retrained], state: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return means over turns at the largest budget, in percent, for labels with a value in all of them."""
    turns = [turn for cell in cells for turn in cell.found.turns if turn.budget == max(EPSILONS)]
    values = 100 * np.array([getattr(turn, state) for turn in turns], dtype=np.float64)
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = values.mean(axis=0)
    return means
