"""Plots of plans: epsilon by queries, and correct labels by epsilon."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import cycle
from pathlib import Path
from typing import Any

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.page.drawing import COLOURS, axes_of, figure_of, style
from ostraka.common.planning.candidate import Curve

_SUFFIXES = (".png", ".svg")
_HEADROOM = 1.6
"""Upper end of the plot, relative to the budget."""


def draw(
    path: Path, curves: Sequence[Curve], budgets: Sequence[float], title: str, counted: str = "queries"
) -> None:
    """Write a plot of `curves` with a horizontal line at each budget's epsilon; `counted` names the x axis.

    The plot goes a little beyond the largest budget, so that lines that cross it can be told apart. Raises
    `config.invalid` for a file that is neither .png nor .svg, or that cannot be written.
    """
    with _axes(path) as axes:
        for curve, colour in zip(curves, cycle(COLOURS), strict=False):
            line = "-" if curve.main else "--"
            axes.plot(curve.queries, curve.epsilon, line, color=colour, label=curve.name)
        for budget in budgets:
            axes.axhline(budget, color="black", linewidth=0.8, linestyle=":", label=f"budget {budget:g}")
        axes.set(xlabel=counted, ylabel="epsilon", title=title)
        axes.set(xlim=(0, max(curve.queries[-1] for curve in curves)), ylim=(0, _HEADROOM * max(budgets)))


def draw_frontier(path: Path, lines: Mapping[str, Sequence[tuple[float, float]]], title: str) -> None:
    """Write a plot of points (epsilon, correct labels), a line for each mechanism; raises as in `draw`."""
    with _axes(path) as axes:
        for (name, points), colour in zip(lines.items(), cycle(COLOURS), strict=False):
            axes.plot(*zip(*points, strict=True), "o-", color=colour, label=name)
        axes.set(xlabel="epsilon", ylabel="right labels, expected", title=title)
        axes.set(xlim=(0, None), ylim=(0, None))


def check_picture(path: Path) -> None:
    """Raise `config.invalid` for a file that is neither .png nor .svg; fail if matplotlib is missing."""
    import_module("matplotlib")
    if path.suffix not in _SUFFIXES:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{path} is not a picture: name a .png or an .svg file.")


@contextmanager
def _axes(path: Path) -> Iterator[Any]:
    """Yield axes to draw on, then write the picture with a legend beside them."""
    check_picture(path)
    with style():
        axes = axes_of(8, 4)
        yield axes
        figure = figure_of(axes)
        axes.title.set_fontsize("medium")
        figure.legend(loc="outside right upper", fontsize="small")
        try:
            figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
        except OSError as error:
            raise OstrakaError(
                ErrorCode.CONFIG_INVALID,
                f"Cannot write {path}: {error.strerror}; name a file in a folder that exists.",
            ) from error
