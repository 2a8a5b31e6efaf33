"""Plots of a simulation's report, as SVG text."""

import io
from collections.abc import Callable

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from deploy.simulation.report import Report, Unit

BLUE, ORANGE, GREEN, RED, GREY = "#0072b2", "#e69f00", "#009e73", "#d55e00", "#b8b8b8"
COLUMNS = 5


def draw(plot: Callable[[Report], Figure], report: Report) -> str:
    """Render one of this module's plots as an SVG document."""
    with mpl.rc_context(
        {
            "svg.fonttype": "none",
            "font.family": "sans-serif",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    ):
        out = io.StringIO()
        plot(report).savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


def accuracy(report: Report) -> Figure:
    """The student's accuracy on test records before and after, beside the labels' own."""
    names = ["student before", "student after", "released labels"]
    values = [report.student_accuracy_before, report.student_accuracy_after, report.label_accuracy or 0.0]
    axes = _axes(4.6, 3)
    bars = axes.bar(names, values, color=[GREY, BLUE, GREEN], width=0.6)
    axes.bar_label(bars, fmt="{:.3f}")
    axes.set(ylim=(0, 1.08), ylabel="accuracy")
    return _figure(axes)


def labels(report: Report) -> Figure:
    """How many queries of each class were answered right, wrong and not at all."""
    axes = _axes(4.6, 3)
    names = [count.name for count in report.classes]
    base = [0] * len(names)
    for kind, colour in (("right", GREEN), ("wrong", RED), ("unanswered", GREY)):
        heights = [getattr(count, kind) for count in report.classes]
        axes.bar(names, heights, bottom=base, color=colour, label=kind)
        base = [low + height for low, height in zip(base, heights, strict=True)]
    axes.set(ylabel="queries", xlabel="true class", ylim=(0, 1.3 * max(base)))
    axes.legend(ncols=3, loc="upper center")
    return _figure(axes)


def epsilons(report: Report) -> Figure:
    """Every party's epsilon over time, in both notions, against its budget."""
    units = report.units
    columns = min(COLUMNS, max(1, len(units)))
    rows = max(1, -(-len(units) // columns))
    figure = Figure(figsize=(1 + 2 * columns, 0.8 + 2 * rows), layout="constrained")
    grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    for axes in grid[len(units) :]:
        axes.set_axis_off()
    for axes, unit in zip(grid, units, strict=False):
        _unit(axes, unit, report.bound)
    figure.supxlabel("seconds since labelling began")
    figure.supylabel(f"epsilon at delta {units[0].delta:g}" if units else "epsilon")
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def throughput(report: Report) -> Figure:
    """Queries, answers and votes per second while labelling."""
    axes = _axes(4.6, 2)
    speeds = report.throughput
    names = ["queries", "answers", "votes"]
    values = [speeds.queries_per_second, speeds.answers_per_second, speeds.votes_per_second]
    bars = axes.barh(names, values, color=[BLUE, GREEN, ORANGE])
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.set(xscale="log", xlabel="per second (log scale)", xlim=(0.8, 8 * max([1.0, *values])))
    axes.invert_yaxis()
    return _figure(axes)


def steps(report: Report) -> Figure:
    """Wall time of every step, in seconds."""
    axes = _axes(4.6, 0.6 + 0.32 * len(report.seconds))
    bars = axes.barh(list(report.seconds), list(report.seconds.values()), color=BLUE)
    axes.bar_label(bars, fmt="{:.1f} s", padding=3)
    axes.set(xlabel="seconds", xlim=(0, 1.2 * max([0.1, *report.seconds.values()])))
    axes.invert_yaxis()
    return _figure(axes)


def _unit(axes: Axes, unit: Unit, bound: str) -> None:
    times = [0.0, *(charge.seconds for charge in unit.history)]
    worst = [0.0, *(charge.epsilon_worst_case for charge in unit.history)]
    actual = [0.0, *(charge.epsilon_data_dependent for charge in unit.history)]
    axes.axhline(unit.epsilon_budget, color=RED, linestyle=":", label="budget")
    axes.step(times, worst, color=GREY, linestyle="--", where="post", label="worst-case")
    axes.step(times, actual, color=BLUE, where="post", label=f"data-dependent ({bound}, one direction)")
    axes.set_title(unit.party, fontsize="small")
    axes.set_ylim(bottom=0)


def _axes(width: float, height: float) -> Axes:
    return Figure(figsize=(width, height), layout="constrained").subplots()


def _figure(axes: Axes) -> Figure:
    figure = axes.get_figure()
    assert isinstance(figure, Figure)  # noqa: S101 - `_axes` made it
    return figure
