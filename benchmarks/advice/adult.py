"""The picture of README.md and docs/index.md: advice on Adult. `python -m benchmarks.advice.adult`.

Writes Adult as a table, asks for advice on it as
`ostraka advise adult.csv --label income --parties 5 --epsilon 2` does, and draws the expected accuracies.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import pyarrow as pa
import typer
from numpy.typing import NDArray
from pyarrow import csv
from rich.console import Console

from benchmarks.published import DATA
from ostraka.common.console.cli import run
from ostraka.common.page.drawing import BLUE, GREEN, GREY, RED, axes_of, draw, figure_of
from ostraka.deploy.advice.advise import Advice, advise
from ostraka.deploy.advice.attempts import WayName
from ostraka.deploy.advice.comparison import WayFigures
from ostraka.deploy.advice.options import AdviceOptions
from ostraka.deploy.advice.tables import show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLUMNS = (
    "age",
    "workclass",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
)
"""Of Adult, in the order of its publication, without the sampling weight."""
LABEL = "income"
OPTIONS = AdviceOptions(parties=5, epsilon=2.0)
PICTURE = Path("docs/img/advice.svg")
SIZE = (5.6, 3.4)
"""Inches, so text is readable on a phone as well."""
WIDTH = 150
"""Characters of the printed table."""
HUES: Mapping[WayName, str] = {"nothing": GREY, "own": GREY, "pooled": RED, "sums": BLUE, "votes": GREEN}
"""Grey costs the sites nothing; red reveals records, or their features."""

app = typer.Typer(add_completion=False)


def write_table(arrays: Mapping[str, NDArray[Any]], file: Path) -> None:
    """Write Adult with one text column per group of indicators; a cell is empty if none is set."""
    names = [str(name) for name in arrays["feature_names"]]
    features = np.concatenate([arrays["X_train"], arrays["X_test"]])
    rich = np.concatenate([arrays["y_train"], arrays["y_test"]]).astype(bool)
    table = {column: _column(features, names, column) for column in COLUMNS}
    incomes = pa.array(np.where(rich, ">50K", "<=50K").tolist())
    csv.write_csv(pa.table({**table, LABEL: incomes}), file)


def _column(features: NDArray[Any], names: list[str], column: str) -> pa.Array:
    if column in names:
        return pa.array(features[:, names.index(column)])
    places = [i for i, name in enumerate(names) if name.startswith(f"{column}_")]
    words = np.array([*(names[i].removeprefix(f"{column}_") for i in places), ""])
    indicators = features[:, places]
    return pa.array(words[np.where(indicators.any(1), indicators.argmax(1), len(places))].tolist())


def plot(advice: Advice) -> "Figure":
    """Draw the accuracy of each way with its interval, the lowest on top."""
    axes = axes_of(*SIZE)
    ranked = sorted(_accuracies(advice), key=lambda found: found[2])
    for place, (one, low, mean, high) in enumerate(ranked):
        hue = HUES.get(one.way, RED)
        axes.plot([low, high], [place, place], color=hue, linewidth=3, alpha=0.35)
        axes.plot(mean, place, "o", color=hue)
        axes.annotate(f"{mean:.1f}", (mean, place), (0, 5), textcoords="offset points", ha="center")
    axes.set_yticks(range(len(ranked)), [name_of(one, advice) for one, *_ in ranked])
    axes.invert_yaxis()
    axes.set(xlabel="accuracy in %, with 95% intervals")
    return figure_of(axes)


def _accuracies(advice: Advice) -> Iterator[tuple[WayFigures, float, float, float]]:
    for one in advice.ways:
        figure = one.figure("accuracy")
        yield one, 100 * figure.low, 100 * figure.estimate, 100 * figure.high


def name_of(one: WayFigures, advice: Advice) -> str:
    """Return the name of a way for readers who know nothing about Ostraka."""
    match one.way:
        case "nothing":
            return "most frequent class"
        case "own":
            return f"your {advice.amounts.own} records alone"
        case "pooled":
            return "all records pooled"
        case "votes":
            return f"votes of {one.settings['total']} teachers"
        case "sums":
            return f"noisy sums: {one.variant}"
    return one.way


@app.command()
def main(
    folder: Annotated[Path, typer.Option(help="Where adult.csv is written.")] = Path("runs/advice"),
    picture: Annotated[Path, typer.Option(help="File of the picture.")] = PICTURE,
) -> None:
    """Print the advice on Adult, and draw it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "adult.csv"
    with np.load(DATA / "adult.npz") as arrays:
        write_table(dict(arrays), file)
    advice = advise(file, LABEL, OPTIONS)
    show(advice, Console(width=WIDTH))
    picture.write_text(draw(plot, advice), encoding="utf-8")


if __name__ == "__main__":
    run(app)
