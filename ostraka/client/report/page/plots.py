"""Plots of a run's report, as SVG text."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ostraka.common.page.drawing import plot, svg

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BEFORE = "#b8b8b8"
AFTER = "#0072b2"
COST = "#d55e00"
MEANS = ("accuracy", "balanced_accuracy", "auc", "map")
BY_LABEL = ("balanced_accuracy", "auc", "average_precision")


def means(student: Mapping[str, Any]) -> str:
    """Plot a student's metrics, those before next to those after."""
    with plot(4.6, 3) as (figure, axes):
        for shift, when, colour in ((-0.2, "before", BEFORE), (0.2, "after", AFTER)):
            values = [_number((student[when] or {}).get(name)) for name in MEANS]
            places = [index + shift for index in range(len(MEANS))]
            axes.bar(places, values, width=0.38, color=colour, label=_series_words(when))
        axes.set_xticks(range(len(MEANS)), [name.replace("_", "\n") for name in MEANS])
        axes.set_ylim(0, 1.2)
        axes.legend(ncols=2, loc="upper center")
        return svg(figure)


def by_label(student: Mapping[str, Any], metric: str) -> str:
    """One metric of every label, before beside after."""
    after = student["after"]["labels"]
    before = (student["before"] or {}).get("labels", ())
    with plot(5, 1.2 + 0.3 * len(after)) as (figure, axes):
        for shift, labels, colour, when in ((-0.2, before, BEFORE, "before"), (0.2, after, AFTER, "after")):
            places = [index + shift for index in range(len(labels))]
            values = [_number(label[metric]) for label in labels]
            axes.barh(places, values, height=0.38, color=colour, label=_series_words(when))
        _label_axis(axes, [label["name"] for label in after])
        axes.set(xlabel=metric.replace("_", " "), xlim=(0, 1))
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        return svg(figure)


def answers(labels: Sequence[Mapping[str, Any]]) -> str:
    """How many answers each label or class got, and of labels how many were positive."""
    with plot(5, 1.2 + 0.3 * len(labels)) as (figure, axes):
        places = range(len(labels))
        axes.barh(places, [label["answered"] for label in labels], color=BEFORE, label="answered")
        if all("positive" in label for label in labels):
            axes.barh(places, [label["positive"] for label in labels], color=AFTER, label="positive")
            axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
        _label_axis(axes, [label["name"] for label in labels])
        axes.set(xlabel="queries")
        return svg(figure)


def rounds(figures: Mapping[str, Any]) -> str:
    """Plot the student's accuracy after every round, and the cost of all rounds so far."""
    made = figures["rounds"]
    before = ((figures["student"] or {}).get("before") or {}).get("accuracy")
    with plot(6, 3.2) as (figure, axes):
        numbers = [one["round"] for one in made]
        axes.plot(
            [0, *numbers], [_number(before), *(_number(one["accuracy"]) for one in made)], "o-", color=AFTER
        )
        axes.set(xlabel="round (0: own labels alone)", xticks=[0, *numbers], ylim=(0, 1))
        axes.set_ylabel("accuracy", color=AFTER)
        cost = axes.twinx()
        cost.plot([0, *numbers], [0.0, *(one["epsilon_worst_case"] for one in made)], "s--", color=COST)
        cost.set_ylabel(f"worst-case epsilon ({figures['notion']})", color=COST)
        cost.set_ylim(bottom=0)
        cost.spines["right"].set_visible(True)
        return svg(figure)


def _label_axis(axes: "Axes", names: Sequence[str]) -> None:
    """Names from the top down."""
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()


def _series_words(when: str) -> str:
    return "own labels alone" if when == "before" else "with released labels"


def _number(value: float | None) -> float:
    return float("nan") if value is None else value
