"""Results of DP-SGD, as tables for a terminal and for documents."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from rich.table import Table

from benchmarks.dpsgd.cells import Cell, mean_and_deviation
from benchmarks.dpsgd.measures import Measure

HEADS = ("data", "epsilon", "by dp_accounting", "noise", "ACC", "BAC", "AUC", "mAP")


def rows(cells: Sequence[Cell]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each problem and epsilon: mean and deviation over seeds."""
    for problem, epsilon in dict.fromkeys((one.problem, one.epsilon) for one in cells):
        alike = [one for one in cells if (one.problem, one.epsilon) == (problem, epsilon)]
        yield (
            problem,
            number(epsilon),
            number(alike[0].checked),
            number(alike[0].multiplier),
            *percentages(*mean_and_deviation([one.measure for one in alike])),
        )


def percentages(mean: Measure, deviation: Measure) -> list[str]:
    """Return "mean ± deviation" in percent of each measure."""
    pairs = zip(asdict(mean).values(), asdict(deviation).values(), strict=True)
    return [f"{100 * value:.1f} ± {100 * spread:.1f}" for value, spread in pairs]


def number(value: float | None) -> str:
    """Return the number with two decimals, or a dash."""
    return "-" if value is None else f"{value:.2f}"


def table(title: str, heads: Sequence[str], body: Iterator[tuple[str, ...]]) -> Table:
    """Return a table for a terminal."""
    drawn = Table(title=title, title_justify="left")
    for head in heads:
        drawn.add_column(head, justify="right")
    for row in body:
        drawn.add_row(*row)
    return drawn


def markdown(heads: Sequence[str], body: Iterator[tuple[str, ...]]) -> str:
    """Return the same as a Markdown table."""
    lines = [heads, ["--:"] * len(heads), *body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
