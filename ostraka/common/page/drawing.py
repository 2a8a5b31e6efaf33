"""Plots of pages and picture files: one style, drawn by matplotlib without a screen."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@contextmanager
def plot(width: float, height: float) -> Iterator[tuple["Figure", "Axes"]]:
    """Yield a figure of this size, in inches, and its axes; it is to be saved within the block."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    style = mpl.rc_context(
        {
            # Text stays text, which can be searched and takes the reader's own font.
            "svg.fonttype": "none",
            # Names come from data: a dollar sign in one is no formula.
            "text.parse_math": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
    with style, warnings.catch_warnings():
        # Whether there is a font for a name is up to the reader's machine, and no concern of this one.
        warnings.filterwarnings("ignore", "Glyph")
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, figure.subplots()


def svg(figure: "Figure") -> str:
    """Return a figure as an SVG document, the same whenever it is drawn."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()
