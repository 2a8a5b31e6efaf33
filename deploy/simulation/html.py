"""A report as one HTML page that opens without a network."""

import base64
from collections.abc import Callable, Iterable
from html import escape
from pathlib import Path
from string import Template

from matplotlib.figure import Figure

from deploy.simulation import plots
from deploy.simulation.report import Report, Unit

TEMPLATE = Path(__file__).with_name("template.html")


def render(report: Report) -> str:
    """The page, its plots inline as SVG images."""
    return Template(TEMPLATE.read_text()).substitute(
        id=escape(report.id),
        summary=escape(_summary(report)),
        tiles="".join(_tile(name, value) for name, value in _figures(report)),
        warning=escape(_warning(report)),
        gained=_plot(plots.accuracy, report, "Accuracy on test records; released labels against the truth.")
        + _plot(
            plots.labels,
            report,
            "Queries of each true class; unanswered: the vote was too close, or the session had ended.",
        ),
        cost=_plot(plots.epsilons, report, "Epsilon of every party over time, against its budget."),
        speed=_plot(plots.throughput, report, "Throughput while labelling.")
        + _plot(plots.steps, report, "Wall time per step."),
        data_dependent=escape(data_dependent_heading(report)),
        units="".join(_row(_unit_cells(unit)) for unit in report.units),
        settings="".join(_row((name, str(value))) for name, value in report.settings.model_dump().items()),
    )


def data_dependent_heading(report: Report) -> str:
    """The name of a column of data-dependent epsilons, with the bound they are by."""
    direction = ", one direction" if report.bound == "theorem6" else ""
    return f"data-dependent epsilon ({report.bound}{direction})"


def _figures(report: Report) -> Iterable[tuple[str, str]]:
    yield "queries answered", f"{report.answered} of {report.queries}"
    yield "labels right", "none given" if report.label_accuracy is None else f"{report.label_accuracy:.1%}"
    yield "student before", f"{report.student_accuracy_before:.1%}"
    yield "student after", f"{report.student_accuracy_after:.1%}"
    if report.units:
        largest = max(unit.epsilon_data_dependent for unit in report.units)
        worst = max(unit.epsilon_worst_case for unit in report.units)
        yield data_dependent_heading(report), f"{largest:.2f}"
        yield "worst-case epsilon", f"{worst:.2f}"


def _summary(report: Report) -> str:
    settings = report.settings
    text = (
        f"{settings.parties} parties with {settings.teachers} teachers each labelled a pool of "
        f"{report.queries} records of {settings.data} under budgets of epsilon {settings.epsilon:g} "
        f"at delta {settings.delta:g}; enforced: {report.enforce}."
    )
    if report.ended_early:
        return f"{text} The session ended after {report.asked} queries, when a budget had no room for more."
    return text


def _warning(report: Report) -> str:
    worst, actual = report.notions["epsilon_worst_case"], report.notions["epsilon_data_dependent"]
    return (
        f"Two notions of epsilon stand on this page. One is {worst}. The other is {actual}; a real guardian "
        "shows it to nobody, and a simulation may only because it plays every part."
    )


def _unit_cells(unit: Unit) -> tuple[str, ...]:
    return (
        unit.party,
        unit.group,
        unit.adjacency,
        f"{unit.epsilon_data_dependent:.3f}",
        f"{unit.epsilon_worst_case:.3f}",
        f"{unit.epsilon_budget:g}",
        f"{unit.delta:g}",
        f"{unit.order:g}",
        unit.enforce,
    )


def _tile(name: str, value: str) -> str:
    return f'<div class="tile"><b>{escape(value)}</b>{escape(name)}</div>'


def _row(cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>\n"


def _plot(plot: Callable[[Report], Figure], report: Report, caption: str) -> str:
    image = base64.b64encode(plots.draw(plot, report).encode()).decode()
    text = escape(caption)
    return (
        f'<figure><img alt="{text}" src="data:image/svg+xml;base64,{image}">'
        f"<figcaption>{text}</figcaption></figure>\n"
    )
