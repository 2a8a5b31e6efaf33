"""Draws the numbers of a cell; hollow marks are the paper's numbers."""

import re
from collections.abc import Mapping
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Sheet

from benchmarks.reproduce.cell import Figure, Outcome
from benchmarks.reproduce.pictures import Picture

SIZE = (6.4, 3.0)
"""Inches."""
Points = Mapping[str, Figure]
"""The numbers of one line, by x."""


def draw(picture: Picture, outcome: Outcome, file: Path) -> None:
    """Write a picture as SVG; the same numbers give the same bytes."""
    lines = lines_of(picture, outcome)
    wide = all(_number(x) is None for points in lines.values() for x in points)
    with rc_context({"svg.hashsalt": file.stem, "svg.fonttype": "none", "font.size": 8}):
        sheet = Sheet(figsize=SIZE, layout="constrained")
        axes = sheet.add_subplot(xlabel=picture.x, ylabel=picture.y)
        if wide:
            _bars(axes, lines)
        else:
            for name, points in lines.items():
                _line(axes, name, points)
            axes.set_yscale(picture.scale)
        if len(lines) > 1:
            sheet.legend(loc="outside right upper", frameon=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        sheet.savefig(file, format="svg", metadata={"Date": None, "Creator": None})


def lines_of(picture: Picture, outcome: Outcome) -> dict[str, dict[str, Figure]]:
    """Return the numbers in a picture, by line and x."""
    names = re.compile(picture.names)
    lines = dict[str, dict[str, Figure]]()
    for figure in outcome.figures:
        if found := names.fullmatch(figure.name):
            groups = list(found.groups())
            x = groups.pop(names.groupindex["x"] - 1)
            lines.setdefault(", ".join(groups), {})[x] = figure
    return lines


def _line(axes: Axes, name: str, points: Points) -> None:
    x = [_number(at) or 0.0 for at in points]
    spread = [one.deviation or 0.0 for one in points.values()]
    (drawn, *_) = axes.errorbar(
        x, [one.mean for one in points.values()], spread, marker=".", capsize=2, label=name
    )
    for at, one in zip(x, points.values(), strict=True):
        if one.paper is not None:
            axes.plot(at, one.paper, "o", color=drawn.get_color(), fillstyle="none")


def _bars(axes: Axes, lines: Mapping[str, Points]) -> None:
    """Draw a group of bars for each x, one bar for each line."""
    names = list(dict.fromkeys(x for points in lines.values() for x in points))
    height = 0.8 / len(lines)
    for place, (line, points) in enumerate(lines.items()):
        at = [names.index(x) + place * height for x in points]
        figures = list(points.values())
        axes.barh(
            at,
            [one.mean for one in figures],
            height,
            xerr=[one.deviation or 0.0 for one in figures],
            label=line,
        )
        for y, one in zip(at, figures, strict=True):
            if one.paper is not None:
                axes.plot(one.paper, y, "o", color="black", fillstyle="none")
    axes.set_yticks([place + (len(lines) - 1) * height / 2 for place in range(len(names))], names)
    axes.invert_yaxis()


def _number(x: str) -> float | None:
    try:
        return float(x.replace(",", ""))
    except ValueError:
        return None
