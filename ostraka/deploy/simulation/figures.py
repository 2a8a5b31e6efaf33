"""Plots of how good students are, beside what a user would compare them with."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ostraka.client.students.accuracy import LabelFigures
from ostraka.deploy.simulation import plots
from ostraka.deploy.simulation.quality import METRICS
from ostraka.deploy.simulation.report import SimulationReport

WIDTH = 6.4
"""Inches across which what is compared is told apart."""
COLOURS = (plots.GREY, plots.BLUE, plots.ORANGE)


def compared(report: SimulationReport) -> Figure:
    """Own data alone, released labels as well, and all teachers without privacy, by each metric."""
    axes = plots.axes_of(WIDTH, 3.2)
    for place, (name, metrics) in enumerate(report.quality.rows):
        values = [getattr(metrics, metric) or 0.0 for metric in METRICS]
        at = [index + 0.27 * (place - 1) for index in range(len(METRICS))]
        bars = axes.bar(at, values, width=0.25, color=COLOURS[place], label=name)
        axes.bar_label(bars, fmt="{:.2f}", fontsize="small")
    axes.set_xticks(range(len(METRICS)), list(METRICS.values()))
    axes.set(ylim=(0, 1.1), ylabel="on test records")
    return _told(axes)


def balanced_accuracies(report: SimulationReport) -> Figure:
    """Plot the same comparison, label by label, by balanced accuracy."""
    return _by_label(report, "balanced_accuracy", "balanced accuracy")


def average_precisions(report: SimulationReport) -> Figure:
    """Plot the same comparison, label by label, by average precision."""
    return _by_label(report, "average_precision", "average precision")


def areas(report: SimulationReport) -> Figure:
    """Plot the same comparison, label by label, by area under the ROC curve."""
    return _by_label(report, "auc", "AUC")


def turns(report: SimulationReport) -> Figure:
    """Balanced accuracy of every querying party before and after its turn."""
    names = [turn.party for turn in report.turns]
    axes = plots.axes_of(plots.width_of(names), 3)
    for side, colour, label in ((-0.2, plots.GREY, "before"), (0.2, plots.BLUE, "after")):
        at = [place + side for place in range(len(names))]
        values = [getattr(turn, label).balanced_accuracy for turn in report.turns]
        axes.bar_label(axes.bar(at, values, color=colour, width=0.38, label=label), fmt="{:.2f}")
    axes.set_xticks(range(len(names)), names)
    axes.set(ylim=(0, 1.3), ylabel="balanced accuracy")
    axes.legend(ncols=2, loc="upper center")
    return plots.figure_of(axes)


def rounds(report: SimulationReport) -> Figure:
    """Accuracy of the student after every round, from what it was by own data alone."""
    axes = plots.axes_of(4.6, 3)
    numbers = [0, *(one.round for one in report.rounds)]
    for metric, colour in (("accuracy", plots.BLUE), ("balanced_accuracy", plots.GREEN)):
        values = [getattr(report.quality.own, metric), *(getattr(one, metric) for one in report.rounds)]
        axes.plot(numbers, values, color=colour, marker="o", label=METRICS[metric])
    axes.set_xticks(numbers)
    axes.set(xlabel="rounds of labels", ylabel="on test records")
    axes.legend()
    return plots.figure_of(axes)


def _by_label(report: SimulationReport, metric: str, title: str) -> Figure:
    names = [label.name for label in report.quality.after.labels]
    axes = plots.axes_of(max(WIDTH, plots.width_of(names)), 3)
    for place, (name, metrics) in enumerate(report.quality.rows):
        at = [index + 0.27 * (place - 1) for index in range(len(names))]
        values = [_value(label, metric) for label in metrics.labels]
        axes.bar(at, values, width=0.25, color=COLOURS[place], label=name)
    axes.set_xticks(range(len(names)), names)
    axes.set(ylim=(0, 1.1), ylabel=title)
    plots.slant(axes, names)
    return _told(axes)


def _told(axes: Axes) -> Figure:
    """Return the figure, with a legend above its plot."""
    figure = plots.figure_of(axes)
    figure.legend(ncols=3, loc="outside upper center", fontsize="small")
    return figure


def _value(label: LabelFigures, metric: str) -> float:
    value = getattr(label, metric)
    return 0.0 if value is None else float(value)
