"""A run's report as a single HTML page that needs no network and runs no script."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostraka.client.describing import tables as description
from ostraka.client.fitting.tables import accuracy_rows, cost_rows
from ostraka.client.report.tables import COST_HEAD, cost_cells, no_guarantee_text, student_rows, verdict
from ostraka.client.session.run_state import Latecomers
from ostraka.client.students.dp_sgd.guarantee import dp_sgd_words
from ostraka.common.console.texts import epsilon_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import write_atomic
from ostraka.common.learning.accuracy import METRICS, share
from ostraka.common.learning.verdict import read_gain
from ostraka.common.page import templates
from ostraka.common.page.drawing import (
    BLUE,
    GREY,
    RED,
    Series,
    axes_of,
    draw,
    draw_groups,
    draw_level,
    figure_of,
)
from ostraka.common.privacy.guarantees import PERSONS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BY_LABEL = ("balanced_accuracy", "auc", "average_precision")


def means(student: Mapping[str, Any]) -> "Figure":
    """Plot a student's metrics before and after, side by side."""
    axes = axes_of(4.6, 3)
    before = [(student["before"] or {}).get(name) for name in METRICS]
    after = [student["after"].get(name) for name in METRICS]
    draw_groups(
        axes, [name.replace(" ", "\n") for name in METRICS.values()], _before_and_after(before, after)
    )
    gain = read_gain(student)
    if gain is not None:
        draw_level(axes, 0, gain.majority, "most frequent class")
    axes.set_ylim(0, 1)
    return _with_legend(axes)


def by_label(student: Mapping[str, Any], metric: str) -> "Figure":
    """Plot one metric of every label, before and after."""
    after = student["after"]["labels"]
    before = (student["before"] or {}).get("labels", ())
    axes = axes_of(5, _height(after))
    values = _before_and_after(*([label[metric] for label in labels] for labels in (before, after)))
    draw_groups(axes, [label["name"] for label in after], values, across=True)
    axes.set(xlabel=metric.replace("_", " "), xlim=(0, 1))
    return _with_legend(axes)


def answers(labels: Sequence[Mapping[str, Any]]) -> "Figure":
    """Plot how many answers each label or class got, and for labels how many were positive."""
    axes = axes_of(5, _height(labels))
    names = [label["name"] for label in labels]
    for kind, colour in (("answered", GREY), ("positive", BLUE)):
        if all(kind in label for label in labels):
            axes.barh(names, [label[kind] for label in labels], color=colour, label=kind)
    axes.invert_yaxis()
    axes.set(xlabel="queries")
    return _with_legend(axes)


def rounds(figures: Mapping[str, Any]) -> "Figure":
    """Plot the student's accuracy after every round, and the cost of all rounds so far."""
    made = figures["rounds"]
    before = ((figures["student"] or {}).get("before") or {}).get("accuracy")
    axes = axes_of(6, 3.2)
    numbers = [0, *(one["round"] for one in made)]
    accuracies = [before, *(one["accuracy"] for one in made)]
    axes.plot(numbers, [math.nan if one is None else one for one in accuracies], "o-", color=BLUE)
    axes.set(xlabel="round (0: own labels alone)", xticks=numbers, ylim=(0, 1))
    axes.set_ylabel("accuracy", color=BLUE)
    cost = axes.twinx()
    cost.plot(numbers, [0.0, *(one["epsilon_worst_case"] for one in made)], "s--", color=RED)
    cost.set_ylabel(f"worst-case epsilon ({figures['notion']})", color=RED)
    cost.set_ylim(bottom=0)
    cost.spines["right"].set_visible(True)
    return figure_of(axes)


def _before_and_after(before: Sequence[float | None], after: Sequence[float | None]) -> Series:
    return [("own labels alone", GREY, before), ("with released labels", BLUE, after)]


def _height(labels: Sequence[Any]) -> float:
    """Return the height in inches of a plot with a row for each label."""
    return 1.2 + 0.3 * len(labels)


def _with_legend(axes: "Axes") -> "Figure":
    """Return the figure, with a legend beside its plot."""
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure_of(axes)


TEMPLATE = Path(__file__).with_name("page.html")


@dataclass(frozen=True)
class Section:
    """A section of the page: `text`, `plots` (SVG documents with captions), and a table."""

    title: str
    head: Sequence[str]
    rows: Iterable[Sequence[str]]
    plots: Sequence[tuple[str, str]] = ()
    text: str = ""


def write_page(figures: Mapping[str, Any], path: Path) -> None:
    """Write the page for the result of `ostraka.client.report.run_report.report`; raises `config.invalid`."""
    page = render(figures)
    try:
        write_atomic(path, page)
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot write {path}: {error.strerror}; name a file in a folder that exists and is writable.",
        ) from error


def render(figures: Mapping[str, Any]) -> str:
    """Return the page; all external text is escaped, and every epsilon comes with its privacy notion."""
    if "learner" in figures:
        return _render_fit(figures)
    if "columns" in figures:
        return _render_description(figures)
    in_rounds = "rounds" in figures
    asked = _rounds(figures) if in_rounds else _labels(figures)
    return templates.render(
        TEMPLATE,
        title=f"{'Rounds' if in_rounds else 'Run'} {figures['run']} of task {figures['task']}",
        summary=_summary(figures),
        tiles=_tiles(figures),
        note=_notion(figures),
        sections=[*asked, *_student(figures["student"]), *_costs(figures), *_plan(figures)],
    )


def _render_fit(figures: Mapping[str, Any]) -> str:
    """Return the page of a fit."""
    accuracy = figures["accuracy"].get("model") or {}
    epsilon = max(cost["epsilon"] for cost in figures["costs"])
    head, costs = cost_rows(figures["costs"])
    sections = [Section("What it cost", head, costs)]
    if accuracy:
        names, rows = accuracy_rows(figures["accuracy"])
        measured = f"Measured on {figures['accuracy']['measured']} {figures['accuracy']['measured_on']}."
        sections.insert(0, Section("How good the model is", names, rows, text=measured))
    lists = {
        "What the sums tell the parties of your own records": figures["tells"],
        "What else to know": (*figures["warnings"], *figures["notes"]),
    }
    sections += [
        Section(title, ("",), [(text,) for text in texts]) for title, texts in lists.items() if texts
    ]
    tiles = [
        ("sums released", f"{figures.get('rounds', 0)} of {figures['rounds_planned']}"),
        ("records", f"{figures.get('records', 0):,.0f}"),
        ("worst-case epsilon", epsilon_text(epsilon)),
    ]
    tiles += [("accuracy", f"{accuracy['accuracy']:.1%}")] if "accuracy" in accuracy else []
    tiles += [("R^2", f"{accuracy['r2']['estimate']:.1%}")] if "r2" in accuracy else []
    return templates.render(
        TEMPLATE,
        title=f"Fit {figures['run']} of task {figures['task']}",
        summary=f"Learner {figures['learner']}. {figures['reason']}",
        tiles=tiles,
        note="Every epsilon on this page is worst-case, of this fit alone with every sum released, at each "
        "party's own delta: what the sums tell of one record, or one person, at worst.",
        sections=sections,
    )


def counts(column: Mapping[str, Any]) -> "Figure":
    """Plot how many records have each value of a column, with the noise's interval."""
    axes = axes_of(5, _height(column["counts"]))
    found = [one["count"] for one in column["counts"]]
    estimates = [one["estimate"] for one in found]
    reach = [one["high"] - one["estimate"] for one in found]
    axes.barh([one["value"] for one in column["counts"]], estimates, xerr=reach, color=BLUE, ecolor=GREY)
    axes.invert_yaxis()
    axes.set(xlabel="records")
    return figure_of(axes)


def _render_description(figures: Mapping[str, Any]) -> str:
    """Return the page of statistics."""
    head, costs = cost_rows(figures["costs"])
    columns = [
        Section(
            column["name"], *description.count_rows(column), [(draw(counts, column), "Records by value.")]
        )
        for column in figures["columns"]
    ]
    return templates.render(
        TEMPLATE,
        title=f"Statistics {figures['options']['columns'] or ''} of task {figures['task']}",
        summary=" and ".join(figures["options"]["where"] or ()) or "All records.",
        tiles=[("deviation of the noise", f"{figures['sigma']:.3g}")],
        note="Intervals are of the noise alone. Every epsilon is worst-case, of this release alone.",
        sections=[*columns, Section("What it cost", head, costs)],
    )


def _summary(figures: Mapping[str, Any]) -> str:
    if "rounds" in figures:
        text = f"{len(figures['rounds'])} rounds asked about a pool of {figures['pool']} records."
    else:
        text = (
            f"{figures['asked']} of {figures['queries']} queries were asked; {figures['answered']} were "
            f"answered and {figures['abstained']} were not."
        )
    stopped = figures["stopped"]
    last = str(Latecomers(**figures["latecomers"]))
    text = f"{text} {last}" if last else text
    return f"{text} Stopped [{stopped['code']}]: {stopped['message']}" if stopped else text


def _tiles(figures: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    counted = figures.get("rounds", [figures])
    for name, title in (("asked", "queries asked"), ("answered", "answered")):
        yield title, str(sum(one[name] for one in counted))
    by_student = sum(one["by_student"] for one in counted)
    if by_student:
        yield "labelled by the student", str(by_student)
    for when in ("before", "after"):
        metrics = (figures["student"] or {}).get(when)
        if metrics:
            yield f"accuracy {when}", f"{metrics['accuracy']:.1%}"
    if figures["parties"]:
        largest = max(party["epsilon_worst_case"] for party in figures["parties"])
        yield f"worst-case epsilon ({figures['notion']})", epsilon_text(largest)


def _notion(figures: Mapping[str, Any]) -> str:
    if not figures["parties"]:
        return "Nothing was asked, and nothing was charged."
    alone = "all records of one person" if figures["notion"] == PERSONS else "one record"
    what = "the label of one record, of known features," if figures["adjacency"] == "label" else alone
    worst = figures["epsilon_is"].replace("worst_case", "worst-case")
    delta = "each budget's delta" if figures["delta"] is None else f"delta {figures['delta']:g}"
    text = f"Every epsilon on this page is {worst}, at {delta}, and"
    if figures["unguaranteed"]:
        return f"{text} protects no record. {no_guarantee_text(figures['unguaranteed'])}"
    return f"{text} means {figures['notion']}: what a party's releases tell of {what} at worst."


def _rounds(figures: Mapping[str, Any]) -> Iterable[Section]:
    if not figures["rounds"]:
        return
    names = ("round", "mechanism", "asked", "answered", "by_student", "learned")
    head = (
        *(name.replace("_", " ") for name in names),
        f"worst-case epsilon so far ({figures['notion']})",
        *METRICS.values(),
    )
    rows = (
        (
            *(str(one[name]) for name in names),
            epsilon_text(one["epsilon_worst_case"]),
            *(share(one[name]) for name in METRICS),
        )
        for one in figures["rounds"]
    )
    caption = "The student's accuracy after every round, and the cost of all so far."
    yield Section("Rounds", head, rows, [(draw(rounds, figures), caption)])


def _labels(figures: Mapping[str, Any]) -> Iterable[Section]:
    counts = figures["labels"] or figures.get("classes")
    if not counts:
        return
    names = [name for name in counts[0] if name != "name"]
    rows = ((one["name"], *(str(one[name]) for name in names)) for one in counts)
    head = ("label" if figures["labels"] else "class", *names)
    yield Section("What was answered", head, rows, [(draw(answers, counts), "Released answers.")])


def _student(student: Mapping[str, Any] | None) -> Iterable[Section]:
    if not student:
        return
    measured = f"measured on {student['measured']} {student['measured_on']}"
    caption = f"Own labels alone, and with {student['released']} released ones; {measured}."
    plots = [(draw(means, student), caption)] if student["after"] else []
    title = f"The student: {student['student']}, {student['model']}"
    sentences = " ".join(verdict(student))
    yield Section(title, ("student", "records", *METRICS.values()), student_rows(student), plots, sentences)
    guarantee = student.get("guarantee")
    if guarantee:
        told = ((name.replace("_", " "), f"{value:g}") for name, value in guarantee.items())
        yield Section("What the saved student promises", ("DP-SGD", ""), told, text=dp_sgd_words(guarantee))
    if student["after"]:
        yield from _by_label(student)


def _by_label(student: Mapping[str, Any]) -> Iterable[Section]:
    after = student["after"]["labels"]
    before = (student["before"] or {}).get("labels") or [{}] * len(after)
    names = ("accuracy", *BY_LABEL)
    head = ("label", "support", *(f"{name}, {when}" for name in names for when in ("before", "after")))
    rows = (
        (new["name"], str(new["support"]), *(share(one.get(name)) for name in names for one in (old, new)))
        for old, new in zip(before, after, strict=True)
    )
    plots = [(draw(by_label, student, name), f"{name.replace('_', ' ')} of each label.") for name in BY_LABEL]
    yield Section("Label by label", head, rows, plots)


def _costs(figures: Mapping[str, Any]) -> Iterable[Section]:
    if not figures["parties"]:
        return
    cost = f"worst-case epsilon ({figures['notion']})"
    head = ("party", "group", "teachers", "queries", "answers", *COST_HEAD, cost, "does not vote on")
    rows = (
        (
            party["site"],
            group["group"],
            str(party["teachers"]),
            str(group["asked"]),
            str(group["answered"]),
            *cost_cells(group),
            ", ".join(party["abstains"]),
        )
        for party in figures["parties"]
        for group in party["groups"]
    )
    yield Section("What it cost", head, rows)


def _plan(figures: Mapping[str, Any]) -> Iterable[Section]:
    names = (
        "mechanism",
        "variant",
        "encoding",
        "tally",
        "ballots",
        "noise",
        "quorum",
        "adjacency",
        "enforce",
        "bound",
        "settings",
    )
    rows = ((name, _plain(figures[name])) for name in names if name in figures)
    yield Section("The plan", ("name", "value"), rows)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items() if one is not None)
    return str(value)
