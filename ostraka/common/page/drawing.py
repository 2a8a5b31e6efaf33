"""Plots for pages and picture files: one style, drawn by matplotlib without a screen."""

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeAlias

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn = ParamSpec("Drawn")

BLUE = "#0072b2"
GREEN = "#009e73"
ORANGE = "#e69f00"
RED = "#d55e00"
GREY = "#b8b8b8"
COLOURS = (BLUE, GREEN, ORANGE, RED, "#cc79a7", "#56b4e9", "#7f7f7f")
"""The palette of Okabe and Ito, distinguishable for colour-blind people, in the order of use for lines."""


@contextmanager
def style() -> Iterator[None]:
    """Draw in the style of all plots within the block; make and save a figure within it."""
    import matplotlib as mpl

    style = mpl.rc_context(
        {
            # Text stays text, which can be searched and uses the reader's own font.
            "svg.fonttype": "none",
            # Names come from data: a dollar sign in a name does not start a formula.
            "text.parse_math": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
    with style, warnings.catch_warnings():
        # A missing font for a name does not matter here; the reader's machine may have one.
        warnings.filterwarnings("ignore", "Glyph")
        yield


def axes_of(width: float, height: float) -> "Axes":
    """Return the axes of a new figure of this size in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained").subplots()


def figure_of(axes: "Axes") -> "Figure":
    """Return the figure with these axes."""
    from matplotlib.figure import Figure

    figure = axes.get_figure()
    assert isinstance(figure, Figure)  # noqa: S101 - `axes_of` made it
    return figure


def draw(plot: Callable[Drawn, "Figure"], *args: Drawn.args, **options: Drawn.kwargs) -> str:
    """Return the SVG document that `plot` draws from its arguments; the same for every drawing."""
    out = io.StringIO()
    with style():
        # Tight, because a legend beside the axes may be taller than they are.
        plot(*args, **options).savefig(out, format="svg", bbox_inches="tight", metadata={"Date": None})
    return out.getvalue()


Series: TypeAlias = Sequence[tuple[str, str, Sequence[float | None]]]
"""Compared series: name, colour and values of each; None for a missing value."""

_GROUP = 0.8
"""Share of a name's place that its bars fill, so that the bars of one name stand together."""
_BAR = 0.95
"""Share of its place that a bar fills, so that neighbours do not touch."""


def draw_groups(
    axes: "Axes", names: Sequence[str], series: Series, *, told: bool = False, across: bool = False
) -> None:
    """Draw a bar of every series for each name, with its value above it if `told`.

    `across` puts the names from top to bottom and bars to the right. A missing value has no bar.
    """
    share = _GROUP / len(series)
    for place, (label, colour, values) in enumerate(series):
        shift = (place - (len(series) - 1) / 2) * share
        at = [index + shift for index in range(len(values))]
        lengths = [float("nan") if value is None else value for value in values]
        bars = (axes.barh if across else axes.bar)(at, lengths, _BAR * share, color=colour, label=label)
        if told:
            axes.bar_label(bars, fmt="{:.2f}", fontsize="small")
    if across:
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
    else:
        axes.set_xticks(range(len(names)), names)


def draw_level(axes: "Axes", place: int, value: float, label: str) -> None:
    """Draw a line across the bars of the name at this place."""
    axes.plot([place - 0.5, place + 0.5], [value, value], ":", color=RED, label=label)


def draw_stacks(axes: "Axes", names: Sequence[str], series: Series, *, across: bool = False) -> None:
    """Draw one bar for each name, stacked from the values of all series; `across` as in `draw_groups`."""
    base = [0.0] * len(names)
    for label, colour, values in series:
        lengths = [value or 0.0 for value in values]
        if across:
            axes.barh(names, lengths, left=base, color=colour, label=label)
        else:
            axes.bar(names, lengths, bottom=base, color=colour, label=label)
        base = [low + length for low, length in zip(base, lengths, strict=True)]
    if across:
        axes.invert_yaxis()


_SLANT_FROM = 40
"""Number of characters of names that fit side by side under a plot."""


def slant(axes: "Axes", names: Sequence[str]) -> None:
    """Turn names under a plot if they would overlap."""
    if sum(map(len, names)) > _SLANT_FROM:
        axes.tick_params(axis="x", rotation=60)
