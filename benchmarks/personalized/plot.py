"""Labels of each variant beside 003's, as one image."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.personalized import paper
from benchmarks.personalized.budgets import OURS, PAPER
from benchmarks.personalized.experiments import Row

COLOURS = {"u": "#0072b2", "v": "#e69f00", "w": "#009e73"}
NAMES = {"u": "upsampling", "v": "vanishing", "w": "weighting"}


def plot(rows: Sequence[Row], tables: Sequence[str], target: Path) -> None:
    """Draws one panel for each of the tables named as 003's datasets are; writes an image."""
    figure = Figure(figsize=(5 * len(tables), 4), layout="constrained")
    panels = figure.subplots(1, len(tables), squeeze=False)[0]
    for axes, table in zip(panels, tables, strict=True):
        _panel(axes, [row for row in rows if row.table == table], table)
    panels[0].set_ylabel("labels until a budget is exceeded")
    panels[0].legend(fontsize="small", frameon=False)
    figure.savefig(target, dpi=120)


def _panel(axes: Axes, rows: Sequence[Row], table: str) -> None:
    pairs = list(paper.VARIANTS[table])
    for variant, colour in COLOURS.items():
        published = [getattr(paper.VARIANTS[table][pair], variant) for pair in pairs]
        axes.plot(published, "o", color=colour, markerfacecolor="none", label=f"{NAMES[variant]}, 003")
        for notion, style in ((PAPER, "-"), (OURS, "--")):
            labels = {
                (row.factor, row.ratio): row.measure.labels for row in rows if _is(row, variant, notion.name)
            }
            places = [place for place, pair in enumerate(pairs) if pair in labels]
            axes.plot(
                places,
                [labels[pairs[place]] for place in places],
                style,
                marker=".",
                color=colour,
                label=f"{NAMES[variant]}, {notion.name}",
            )
    axes.set(title=table, yscale="symlog", ylim=0, xlabel="higher budget, share of records")
    axes.set_xticks(range(len(pairs)), [f"log {2**factor}\n{ratio}%" for factor, ratio in pairs])


def _is(row: Row, variant: str, notion: str) -> bool:
    return row.variant == variant and row.notion == notion
