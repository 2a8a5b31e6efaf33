"""Advice as one page, with a plot of each way's value at each epsilon."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ostraka.client.report.page import TEMPLATE, Section
from ostraka.common.console.cli import write_file
from ostraka.common.console.texts import epsilon_text
from ostraka.common.page import templates
from ostraka.common.page.drawing import COLOURS, axes_of, draw, figure_of
from ostraka.deploy.advice.advise import CURVE_SPLITS, Advice
from ostraka.deploy.advice.recommendation import NAMES, value_text
from ostraka.deploy.advice.tables import head, rows, tell_limits, tell_setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(advice: Advice) -> "Figure":
    """Draw the judged figure against epsilon; a way without epsilon is a level line."""
    axes = axes_of(6.5, 3.6)
    for colour, (way, points) in zip(COLOURS, advice.curve.items(), strict=False):
        epsilons, values = zip(*points, strict=True)
        if epsilons == (0.0,):
            axes.axhline(values[0], color=colour, linestyle="--", label=way)
        else:
            axes.plot(epsilons, values, "o-", color=colour, label=way)
    axes.set_xscale("log", base=2)
    ticks = sorted({epsilon for points in advice.curve.values() for epsilon, _ in points if epsilon})
    axes.set_xticks(ticks, [epsilon_text(tick) for tick in ticks])
    axes.set(xlabel="epsilon of each site", ylabel=NAMES[advice.judged_by])
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return figure_of(axes)


def render(advice: Advice, setting: Iterable[str] | None = None) -> str:
    """Return the page; all outside text is escaped. `setting` says who has which records."""
    found = advice.recommendation
    sections = [Section("What to expect", head(advice), list(rows(advice)))]
    if advice.curve:
        caption = (
            f"The best variant of each way, on {min(CURVE_SPLITS, advice.splits)} splits for other epsilons."
        )
        drawn = [(draw(plot, advice), caption)]
        sections.append(Section("At other epsilons", ("way", "epsilon", ""), _points(advice), drawn))
    if found.commands:
        sections.append(Section("What to run", ("",), [(command,) for command in found.commands]))
    told = tell_setting(advice) if setting is None else setting
    tiles = [("recommended", "nothing" if found.way == "nothing" else f"{found.way} {found.variant}")]
    for best in advice.recommended:
        tiles.append(
            (NAMES[advice.judged_by], value_text(best.figure(advice.judged_by).estimate, advice.judged_by))
        )
    return templates.render(
        TEMPLATE,
        title="Advice before anything is spent",
        summary=found.sentence,
        tiles=tiles,
        note=" ".join((*told, *tell_limits(advice))),
        sections=sections,
    )


def _points(advice: Advice) -> list[tuple[str, str, str]]:
    return [
        (way, epsilon_text(epsilon), value_text(value, advice.judged_by))
        for way, points in advice.curve.items()
        for epsilon, value in points
        if epsilon
    ]


def write_page(advice: Advice, path: Path, setting: Iterable[str] | None = None) -> None:
    """Write the page; raise `config.invalid` if that fails."""
    write_file(path, render(advice, setting).encode())
