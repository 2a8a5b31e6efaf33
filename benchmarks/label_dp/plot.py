"""Accuracy against epsilon, one panel per dataset."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.label_dp.data import Dataset
from benchmarks.label_dp.settings import (
    AUG_DESCENT,
    DENOISE_SSL,
    LDP_NORMAL,
    LDP_SSL,
    NOISE_CLUSTER,
    NON_PRIVATE,
    PATE_FM,
)
from benchmarks.label_dp.tables import NAMES, Measures

COLOURS = {
    NOISE_CLUSTER: "#000000",
    DENOISE_SSL: "#d55e00",
    LDP_SSL: "#0072b2",
    PATE_FM: "#cc79a7",
    LDP_NORMAL: "#e69f00",
    AUG_DESCENT: "#009e73",
}


def plot(measures: Measures, datasets: Sequence[Dataset], target: Path) -> None:
    """Draw a line for each method, the mean over seeds; write an image."""
    figure = Figure(figsize=(max(8.0, 4.2 * len(datasets)), 4.2), layout="constrained")
    panels = figure.subplots(1, len(datasets), squeeze=False)[0]
    for axes, dataset in zip(panels, datasets, strict=True):
        _panel(axes, measures, dataset)
    panels[0].set_ylabel("right on test records, %")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, dpi=120)


def _panel(axes: Axes, measures: Measures, dataset: Dataset) -> None:
    for method, colour in COLOURS.items():
        points = _points(measures, dataset, method)
        axes.plot([x for x, _ in points], [y for _, y in points], ".-", color=colour, label=NAMES[method])
    best = _points(measures, dataset, NON_PRIVATE)
    if best:
        axes.axhline(best[0][1], color="#999999", linestyle=":", label=NAMES[NON_PRIVATE])
    axes.set(title=dataset.value, xscale="log", xlabel="epsilon of label-DP")


def _points(measures: Measures, dataset: Dataset, method: str) -> list[tuple[float, float]]:
    """Return mean accuracy in percent by epsilon, in order; true labels have epsilon 0."""
    by_epsilon: dict[float, list[float]] = {}
    for cell, one in measures.items():
        if (cell.dataset, cell.method) == (dataset, method) and one.accuracy is not None:
            by_epsilon.setdefault(cell.epsilon or 0.0, []).append(one.accuracy)
    return [(epsilon, 100 * float(np.mean(found))) for epsilon, found in sorted(by_epsilon.items())]
