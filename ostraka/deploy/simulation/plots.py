"""Plots of a simulation's report."""

from collections.abc import Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from ostraka.common.learning.accuracy import METRICS
from ostraka.common.learning.gain import Interval
from ostraka.common.mechanism import BOUND
from ostraka.common.page.drawing import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    axes_of,
    draw_groups,
    draw_level,
    draw_stacks,
    figure_of,
    slant,
)
from ostraka.deploy.simulation.number_quality import NumberQuality
from ostraka.deploy.simulation.report import (
    SimulationReport,
    UnitSpending,
    bound_words,
    notion,
    promise_words,
)

COLUMNS = 5  # two inches each: more would shrink on a page
LEGEND_UP_TO = 40
"""Largest number of classes in a legend; more are distinguished only by colour."""


def accuracy(report: SimulationReport) -> Figure:
    """Plot the student's accuracy on test records before and after, next to the labels' accuracy, if any."""
    names = ["student before", "student after"] if report.queries else ["own data alone", "model of sums"]
    plain: list[float | None] = [report.student_accuracy_before, report.student_accuracy_after]
    balanced: list[float | None] = [
        report.student_balanced_accuracy_before,
        report.student_balanced_accuracy_after,
    ]
    if report.queries:
        names.append("released labels")
        plain.append(report.label_accuracy)
        balanced.append(report.label_balanced_accuracy)
    axes = axes_of(4.6, 3)
    draw_groups(axes, names, [("plain", BLUE, plain), ("balanced", GREEN, balanced)], told=True)
    if report.gain is not None:
        draw_level(axes, 1, report.gain.majority, "most frequent class")
    return _of_shares(axes, "accuracy")


def numbers(report: SimulationReport) -> Figure:
    """Plot how well every compared model predicts numbers, with intervals."""
    quality = report.quality
    compared = quality.rows if isinstance(quality, NumberQuality) else ()
    figure = Figure(figsize=(WIDTH, 1 + 0.4 * len(compared)), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    _draw_intervals(left, [(name, one.r2) for name, one in compared], "R^2")
    _draw_intervals(right, [(name, one.mean_absolute_error) for name, one in compared], "mean absolute error")
    left.invert_yaxis()
    return figure


def _draw_intervals(axes: Axes, found: Sequence[tuple[str, Interval]], what: str) -> None:
    for name, one in found:
        reach = [[one.estimate - one.low], [one.high - one.estimate]]
        axes.errorbar([one.estimate], [name], xerr=reach, color=BLUE, ecolor=GREY, fmt="o", capsize=3)
    axes.set(xlabel=what)


def holdings(report: SimulationReport) -> Figure:
    """Plot every party's number of records by class, or of records with each label."""
    names = [count.name for count in report.labels or report.classes]
    parties = [holding.party for holding in report.holdings]
    axes = axes_of(7, 1.4 + 0.28 * len(parties))
    colours = colormaps["turbo"].resampled(len(names))
    held = [
        (name, to_hex(colours(index)), [holding.counts[index] for holding in report.holdings])
        for index, name in enumerate(names)
    ]
    draw_stacks(axes, parties, held, across=True)
    axes.set(xlabel="labels" if report.labels else "records")
    if len(names) <= LEGEND_UP_TO:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), ncols=1 + (len(names) - 1) // 10)
    return figure_of(axes)


def labels(report: SimulationReport) -> Figure:
    """Plot how many queries of each class, or answers for each label, were right, wrong and missing."""
    counts = report.labels or report.classes
    names = [count.name for count in counts]
    axes = axes_of(width_of(names), 3)
    kinds = (("right", GREEN), ("wrong", RED), ("unanswered", GREY))
    found = [(kind, colour, [getattr(count, kind) for count in counts]) for kind, colour in kinds]
    draw_stacks(axes, names, found)
    most = max(count.right + count.wrong + count.unanswered for count in counts)
    axes.set(ylabel="queries", xlabel="label" if report.labels else "true class", ylim=(0, 1.3 * most))
    axes.legend(ncols=3, loc="upper center")
    slant(axes, names)
    return figure_of(axes)


def label_shares(report: SimulationReport) -> Figure:
    """Plot accuracy and balanced accuracy of the answers for each label."""
    names = [count.name for count in report.labels]
    axes = axes_of(width_of(names), 3)
    plain = [count.accuracy for count in report.labels]
    balanced = [count.balanced_accuracy for count in report.labels]
    draw_groups(axes, names, [("plain", BLUE, plain), ("balanced", GREEN, balanced)])
    slant(axes, names)
    return _of_shares(axes, "accuracy")


def epsilons(report: SimulationReport) -> Figure:
    """Plot every unit's epsilon over time, in both notions, against its budget."""
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
    at = f"\nat delta {units[0].delta:g}" if units else ""
    figure.supylabel(f"epsilon ({promise_words(report.guarantee)}){at}")
    handles, names = grid[0].get_legend_handles_labels()
    figure.legend(handles, names, loc="outside upper center", ncols=len(names))
    return figure


def throughput(report: SimulationReport) -> Figure:
    """Plot queries, answers and votes per second while labelling."""
    axes = axes_of(4.6, 2)
    speeds = report.throughput
    names = ["queries", "answers", "votes"]
    values = [speeds.queries_per_second, speeds.answers_per_second, speeds.votes_per_second]
    bars = axes.barh(names, values, color=[BLUE, GREEN, ORANGE])
    axes.bar_label(bars, fmt="{:,.0f}", padding=3)
    axes.set(xscale="log", xlabel="per second (log scale)", xlim=(0.8, 8 * max([1.0, *values])))
    axes.invert_yaxis()
    return figure_of(axes)


def steps(report: SimulationReport) -> Figure:
    """Plot the wall time of every step, in seconds."""
    axes = axes_of(4.6, 0.6 + 0.32 * len(report.seconds))
    bars = axes.barh(list(report.seconds), list(report.seconds.values()), color=BLUE)
    axes.bar_label(bars, fmt="{:.1f} s", padding=3)
    axes.set(xlabel="seconds", xlim=(0, 1.2 * max([0.1, *report.seconds.values()])))
    axes.invert_yaxis()
    return figure_of(axes)


def _unit(axes: Axes, unit: UnitSpending, bound: BOUND) -> None:
    times = [0.0, *(charge.seconds for charge in unit.history)]
    worst = [0.0, *(charge.epsilon_worst_case for charge in unit.history)]
    actual = [0.0, *(charge.epsilon_data_dependent for charge in unit.history)]
    axes.axhline(unit.epsilon_budget, color=RED, linestyle=":", label="budget")
    axes.step(times, worst, color=GREY, linestyle="--", where="post", label="worst-case")
    axes.step(times, actual, color=BLUE, where="post", label=f"{notion(bound)} ({bound_words(bound)})")
    axes.set_title(unit.name, fontsize="small")
    axes.set_ylim(bottom=0)


def _of_shares(axes: Axes, what: str) -> Figure:
    """Return the figure of a bar plot of fractions, with a legend beside the bars."""
    axes.set(ylim=(0, 1), ylabel=what)
    return _with_legend(axes)


def width_of(names: Sequence[str]) -> float:
    """Return the width in inches of a plot with a bar for each name."""
    return max(4.6, 0.35 * len(names))


WIDTH = 6.4
"""Width in inches over which compared models stay distinguishable."""
COLOURS = (GREY, BLUE, ORANGE)
OTHERS = (GREEN, RED)
"""Colours of models that are compared only as a whole: at most two."""


def comparison(report: SimulationReport) -> Figure:
    """Plot every compared model, by each metric."""
    axes = axes_of(WIDTH, 3.2)
    quality = report.class_quality
    compared = (*quality.rows, *quality.others)
    series = [
        (name, colour, [getattr(metrics, metric) for metric in METRICS])
        for colour, (name, metrics) in zip((*COLOURS, *OTHERS), compared, strict=False)
    ]
    draw_groups(axes, list(METRICS.values()), series, told=True)
    if report.gain is not None:
        draw_level(axes, 0, report.gain.majority, "most frequent class")
    axes.set(ylim=(0, 1), ylabel="on test records")
    return _with_legend(axes)


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
    """Plot the balanced accuracy of every querying party before and after its turn."""
    names = [turn.party for turn in report.turns]
    axes = axes_of(width_of(names), 3)
    before = [turn.before.balanced_accuracy for turn in report.turns]
    after = [turn.after.balanced_accuracy for turn in report.turns]
    draw_groups(axes, names, [("before", GREY, before), ("after", BLUE, after)], told=True)
    return _of_shares(axes, "balanced accuracy")


def rounds(report: SimulationReport) -> Figure:
    """Plot the accuracy of the student after every round, starting from own data alone."""
    axes = axes_of(4.6, 3)
    numbers = [0, *(one.round for one in report.rounds)]
    for metric, colour in (("accuracy", BLUE), ("balanced_accuracy", GREEN)):
        values = [getattr(report.class_quality.own, metric), *(getattr(one, metric) for one in report.rounds)]
        axes.plot(numbers, values, color=colour, marker="o", label=METRICS[metric])
    axes.set_xticks(numbers)
    axes.set(xlabel="rounds of labels", ylabel="on test records")
    axes.legend()
    return figure_of(axes)


def _by_label(report: SimulationReport, metric: str, title: str) -> Figure:
    quality = report.class_quality
    names = [label.name for label in quality.after.labels]
    axes = axes_of(max(WIDTH, width_of(names)), 3)
    series = [
        (name, colour, [getattr(label, metric) for label in metrics.labels])
        for colour, (name, metrics) in zip(COLOURS, quality.rows, strict=True)
    ]
    draw_groups(axes, names, series)
    axes.set(ylim=(0, 1), ylabel=title)
    slant(axes, names)
    return _with_legend(axes)


def _with_legend(axes: Axes) -> Figure:
    """Return the figure, with a legend above its plot."""
    figure = figure_of(axes)
    figure.legend(ncols=3, loc="outside upper center", fontsize="small")
    return figure
