"""A report as one HTML page that opens without a network."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from matplotlib.figure import Figure

from ostraka.client.fitting.tables import NUMBER_HEAD
from ostraka.client.students.dp_sgd.guarantee import dp_sgd_words
from ostraka.common.console.options import flat_fields, settings_keys
from ostraka.common.learning.accuracy import METRICS, share
from ostraka.common.page import templates
from ostraka.common.page.drawing import draw
from ostraka.common.privacy.filters import filter_text
from ostraka.deploy.simulation import plots
from ostraka.deploy.simulation.number_quality import NumberQuality, number_rows
from ostraka.deploy.simulation.quality import quality_rows, split_words
from ostraka.deploy.simulation.report import (
    SimulationReport,
    UnitSpending,
    advise,
    bound_words,
    guarantee_words,
    headline,
    model_words,
    notion,
    promise_words,
    split_sentence,
    switch_words,
    training_words,
    warnings,
)
from ostraka.deploy.simulation.settings import Settings

TEMPLATE = Path(__file__).with_name("template.html")
Plot = Callable[[SimulationReport], Figure]
PLOTS: Mapping[str, Plot] = {
    plot.__name__: plot
    for plot in (
        *(plots.accuracy, plots.holdings, plots.labels, plots.label_shares, plots.epsilons),
        *(plots.throughput, plots.steps, plots.comparison, plots.balanced_accuracies),
        *(plots.average_precisions, plots.areas, plots.turns, plots.rounds, plots.numbers),
    )
}
"""Every plot of the page by its name."""
STEPS = (plots.steps, "Wall time per step.")
SPEED = ((plots.throughput, "Throughput while labelling."), STEPS)


def render(report: SimulationReport, draw: Callable[[Plot, SimulationReport], str] = draw) -> str:
    """Return the page, with plots as SVG images from `draw`, which takes most of the time."""

    def draw_all(shown: Iterable[tuple[Plot, str]]) -> Iterable[tuple[str, str]]:
        return ((draw(plot, report), caption) for plot, caption in shown)

    promise = promise_words(report.guarantee)
    promised = report.student_guarantee
    return templates.render(
        TEMPLATE,
        title=f"Ostraka simulation {report.id}",
        summary=headline(report),
        warnings=warnings(report),
        setting=" ".join([_summary(report), split_sentence(report), *report.notes, advise(report)]),
        command=command_of(report.settings),
        tiles=_tiles(report),
        note=_warning(report),
        held=draw_all([(plots.holdings, _holdings(report))]),
        gained=draw_all([*_labels_and_accuracy(report), *_turns(report)]),
        quality=draw_all(_quality(report)),
        compared_head=_name_columns(report),
        compared=_compare(report),
        compared_by_name=[] if _is_number(report) else [name for name, _ in report.quality.rows],
        model=_model(report),
        student_guarantee=dp_sgd_words(asdict(promised)) if promised else "",
        per_label=_per_label(report),
        guarantee=guarantee_words(report.guarantee, report.mechanism),
        cost=draw_all(
            [(plots.epsilons, f"Epsilon ({promise}) of every unit over time, against its budget.")]
        ),
        speed=draw_all(SPEED if report.queries else (STEPS,)),
        data_dependent=data_dependent_heading(report),
        worst_case=f"worst-case epsilon, {promise}",
        mechanism=f"{report.mechanism}.",
        units=_units(report.units),
        settings=non_default_settings(report.settings).items(),
    )


def data_dependent_heading(report: SimulationReport) -> str:
    """Return the heading of a column of epsilons under the policy's bound, with that bound."""
    return f"{notion(report.bound)} epsilon ({bound_words(report.bound)}), {promise_words(report.guarantee)}"


def _is_number(report: SimulationReport) -> bool:
    return isinstance(report.quality, NumberQuality)


def _name_columns(report: SimulationReport) -> Sequence[str]:
    return ("model", *NUMBER_HEAD) if _is_number(report) else ("student", *METRICS.values())


def _compare(report: SimulationReport) -> Iterable[Sequence[str]]:
    if isinstance(report.quality, NumberQuality):
        return number_rows(report.quality)
    return quality_rows(report.quality)


def _labels_and_accuracy(report: SimulationReport) -> Iterable[tuple[Plot, str]]:
    if _is_number(report):
        yield plots.numbers, "On test records, with 95% intervals."
        return
    if not report.queries:
        yield plots.accuracy, "Accuracy on test records."
        return
    yield plots.accuracy, "Accuracy on test records; released labels against the truth."
    if report.labels:
        yield plots.labels, "Answers for each label; unanswered: too close, or the session had ended."
        yield plots.label_shares, "Released labels against the truth, label by label."
    else:
        yield plots.labels, "Queries of each true class; unanswered: too close, or the session had ended."


def _quality(report: SimulationReport) -> Iterable[tuple[Plot, str]]:
    if isinstance(report.quality, NumberQuality):
        return
    compared = ", ".join(name for name, _ in (*report.quality.rows, *report.quality.others))
    yield plots.comparison, f"On test records: {compared}."
    each = "label" if report.labels else "class"
    yield plots.balanced_accuracies, f"Balanced accuracy of each {each}."
    yield plots.average_precisions, f"Average precision of each {each}."
    yield plots.areas, f"Area under the ROC curve of each {each}."


def _per_label(report: SimulationReport) -> Iterable[tuple[str, ...]]:
    if isinstance(report.quality, NumberQuality):
        return
    columns = [metrics.labels for _, metrics in report.quality.rows]
    for each in zip(*columns, strict=True):
        shares = ((one.balanced_accuracy, one.auc, one.average_precision) for one in each)
        yield each[0].name, str(each[0].support), *(share(value) for one in shares for value in one)


def _turns(report: SimulationReport) -> Iterable[tuple[Plot, str]]:
    if report.turns:
        caption = (
            "Balanced accuracy of every querying party before and after its turn, in the order of turns."
        )
        yield plots.turns, caption
    if report.rounds:
        yield plots.rounds, "The student on test records after each round of labels."


def _holdings(report: SimulationReport) -> str:
    what = "labels" if report.labels else "records"
    kind = "range of the number" if _is_number(report) else "label" if report.labels else "class"
    return f"Every party's {what} by {kind}; split: {split_words(report.settings.records)}."


def _tiles(report: SimulationReport) -> Iterable[tuple[str, str]]:
    quality = report.quality
    if isinstance(quality, NumberQuality) or not report.queries:
        yield from _tiles_of_sums(report)
        return
    yield "queries answered", f"{report.answered} of {report.queries}"
    yield "labels right", "none given" if report.label_accuracy is None else f"{report.label_accuracy:.1%}"
    if report.label_balanced_accuracy is not None:
        yield "labels right, over all classes alike", f"{report.label_balanced_accuracy:.1%}"
    if report.by_student:
        yield "labelled by the student", f"{report.by_student}"
    if report.implied:
        yield "labels implied, not asked", f"{report.implied}"
    yield "student before", f"{quality.own.accuracy:.1%}"
    yield "student after", f"{quality.after.accuracy:.1%}"
    yield "all teachers, not private", f"{quality.ensemble.accuracy:.1%}"
    yield "balanced, before", f"{quality.own.balanced_accuracy:.1%}"
    yield "balanced, after", f"{quality.after.balanced_accuracy:.1%}"
    if quality.model is not None and quality.model.metrics is not None:
        yield "a model of sums, same budget", f"{quality.model.metrics.accuracy:.1%}"
    if report.units:
        largest = max(unit.epsilon_data_dependent for unit in report.units)
        worst = max(unit.epsilon_worst_case for unit in report.units)
        yield data_dependent_heading(report), f"{largest:.2f}"
        yield f"worst-case epsilon, {promise_words(report.guarantee)}", f"{worst:.2f}"
    if report.student_guarantee is not None:
        yield "epsilon of the saved student (DP for its records)", f"{report.student_guarantee.epsilon:.2f}"
    if report.training is not None and report.training.costs:
        yield "epsilon of training alone", f"{max(cost.epsilon for cost in report.training.costs):.2f}"
    if report.training is not None and report.training.guarantee == "none":
        yield "training by ttac", "no formal guarantee"


def _tiles_of_sums(report: SimulationReport) -> Iterable[tuple[str, str]]:
    quality = report.quality
    if isinstance(quality, NumberQuality):
        for name, figures in quality.rows:
            yield f"R^2, {name}", f"{figures.r2.estimate:.1%}"
    else:
        for name, metrics in (*quality.rows, *quality.others):
            yield name, f"{metrics.accuracy:.1%}"
    if quality.model is not None:
        yield "sums released", f"{quality.model.rounds} of {quality.model.rounds_planned}"
    if report.units:
        worst = max(unit.epsilon_worst_case for unit in report.units)
        yield f"worst-case epsilon, {promise_words(report.guarantee)}", f"{worst:.2f}"


def _model(report: SimulationReport) -> str:
    """Return the text on a model of sums, and on the parties that it involves."""
    model = report.quality.model
    if model is None:
        return ""
    drawn = "" if model.asked else "It was drawn in this process, and no party was asked for it: "
    return (
        f"{drawn}{model_words(model)} A model of sums is one of everybody's records: it answers any"
        " question, for ever, to whoever holds it."
    )


def _summary(report: SimulationReport) -> str:
    settings = report.settings
    records = settings.records
    if not report.queries:
        return (
            f"{records.parties} parties added up what a learner ({settings.learning.learn}) asked of"
            f" {records.data}, under budgets of epsilon ({promise_words(report.guarantee)})"
            f" {_budgets(report)} at delta {settings.budgets.delta:g}; enforced: {report.enforce}."
        )
    text = (
        f"{records.parties} parties with {settings.teaching.teachers} teachers each answered "
        f"{report.queries} queries of {records.data} by mechanism {report.mechanism.kind}, under "
        f"budgets of epsilon ({promise_words(report.guarantee)}) {_budgets(report)} at delta "
        f"{settings.budgets.delta:g}; enforced: {report.enforce}; {switch_words(report)}. "
        f"Student: {report.student}."
    )
    if report.ended_early:
        return f"{text} The session ended after {report.asked} queries, when a budget had no room for more."
    return text


def _budgets(report: SimulationReport) -> str:
    """One number, or one for every consent level or party and how differences are used."""
    settings = report.settings
    budgets = settings.budgets
    own = {site: budgets.epsilon_of(site) for site in settings.sites} if budgets.epsilons else {}
    named = budgets.level_epsilons or own
    if not named:
        return f"{budgets.epsilon:g}"
    listed = ", ".join(f"{epsilon:g} ({name})" for name, epsilon in named.items())
    return f"{listed}, used by variant {settings.plan.variant},"


def _warning(report: SimulationReport) -> str:
    worst = report.notions["epsilon_worst_case"]
    actual = report.notions["epsilon_data_dependent"]
    trained = "" if report.training is None else f"{training_words(report.training)} "
    if report.bound == "worst_case":
        return f"{trained}Every epsilon on this page is {worst}."
    return (
        f"{trained}Two notions of epsilon stand on this page. One is {worst}. The other is {actual}; a real "
        "guardian shows it to nobody, and a simulation may only because it plays every part."
    )


def _units(units: Iterable[UnitSpending]) -> Iterable[tuple[str, ...]]:
    """Return one row for each group of consecutive units with the same figures."""
    for cells, same in groupby(units, key=_unit_cells):
        parties = [unit.party for unit in same]
        named = parties[0] if len(parties) == 1 else f"{parties[0]} to {parties[-1]} ({len(parties)} parties)"
        yield named, *cells


def _unit_cells(unit: UnitSpending) -> tuple[str, ...]:
    return (
        unit.group,
        unit.notion,
        f"{unit.epsilon_data_dependent:.3f}",
        f"{unit.epsilon_worst_case:.3f}",
        f"{unit.epsilon_budget:g}",
        f"{unit.delta:g}",
        filter_text(unit.order),
        unit.enforce,
    )


def command_of(settings: Settings) -> str:
    """Return the command with every option that is not at its default, and a file for other such keys."""
    words = ["ostraka", "simulate"]
    given = non_default_settings(settings)
    keys = settings_keys(Settings)
    if given.keys() & keys.keys():
        words += ["--config", "FILE"]
    for name in given.keys() & keys.keys():
        del given[name]
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        words += [option] if value is True else [option, str(value)]
    return shlex.join(words)


def non_default_settings(settings: Settings) -> dict[str, object]:
    """Return the settings that are not at their defaults."""
    fields = flat_fields(Settings)
    return {
        name: value
        for name, value in settings.model_dump(mode="json").items()
        if value is not None and value != fields[name].get_default(call_default_factory=True)
    }
