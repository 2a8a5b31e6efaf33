"""Labels of each variant next to those of Mühl and Boenisch 2022, as one image."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.personalized import paper
from benchmarks.personalized.budgets import OURS, PAPER
from benchmarks.personalized.experiments import Row

SHIFT = 0.2  # three boxes are side by side at a tick
VARIANTS = {
    "u": ("upsampling", "#0072b2", -SHIFT),
    "v": ("vanishing", "#e69f00", 0.0),
    "w": ("weighting", "#009e73", SHIFT),
}
"""Name, colour and position beside the tick."""
MARKERS = {PAPER.name: ".", OURS.name: "_"}


def plot(rows: Sequence[Row], tables: Sequence[str], target: Path) -> None:
    """Draw one panel for each table, named as the paper's datasets; write an image."""
    figure = Figure(figsize=(max(8.0, 5.5 * len(tables)), 4.5), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, table in zip(panels, tables, strict=True):
        _panel(axes, [row for row in rows if row.table == table], table)
    panels[0].set_ylabel("labels until a budget is exceeded")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    figure.savefig(target, dpi=120)


def _panel(axes: Axes, rows: Sequence[Row], table: str) -> None:
    pairs = list(paper.VARIANTS[table])
    for variant, (name, colour, shift) in VARIANTS.items():
        places = [place + shift for place in range(len(pairs))]
        published = [getattr(paper.VARIANTS[table][pair], variant) for pair in pairs]
        axes.plot(places, published, "o", color=colour, fillstyle="none", label=f"{name}, published")
        for notion, marker in MARKERS.items():
            found = [
                (pairs.index((row.factor, row.ratio)) + shift, row.measure.labels)
                for row in rows
                if row.variant == variant and row.notion == notion
            ]
            x = [place for place, _ in found]
            y = [labels for _, labels in found]
            axes.plot(x, y, marker, color=colour, markersize=9, label=f"{name}, {notion}")
    axes.set(title=table, yscale="symlog", ylim=(0, 1e4), xlabel="higher budget, share of records")
    axes.set_xticks(range(len(pairs)), [f"log {2**factor}\n{ratio}%" for factor, ratio in pairs])
