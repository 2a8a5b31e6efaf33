"""Printed tables of the measurements, next to those of Mühl and Boenisch 2022."""

from collections.abc import Iterator, Mapping, Sequence

from rich.table import Table

from benchmarks.personalized import paper
from benchmarks.personalized.budgets import NOTIONS, PAPER
from benchmarks.personalized.cells import FACTORS, RATIOS, SKEWED_RATIOS, Cell
from benchmarks.personalized.experiments import Measure, Row
from benchmarks.personalized.quality import Quality

WIDTH = 112
"""Characters of the widest table."""
COLUMNS = {
    "u": "u",
    "v": "v, 1/c^2",
    "v4": "v, 1/c^4",
    "w": "w",
    "wr": "w, sqrt",
    "mean": "mean",
    "average": "average",
}
NOT_RUN = "-"

Found = Mapping[tuple[str, int, int, str], Measure]
"""Measures by variant, factor, ratio and notion."""


def tables(rows: Sequence[Row], qualities: Mapping[str, Quality]) -> Iterator[Table]:
    """Yield every table that the rows fill; `qualities` has the teachers' quality by name of their cell."""
    yield _teachers(qualities)
    for title in dict.fromkeys(row.table for row in rows):
        found = {
            (row.variant, row.factor, row.ratio, row.notion): row.measure
            for row in rows
            if row.table == title
        }
        for notion in dict.fromkeys(key[-1] for key in found):
            yield _labels(title, found, notion)
        if any(key[0] == "skewed" for key in found):
            yield _labels_when_skewed(found)
            yield _quality_when_skewed(found, qualities)
            yield _students(found)


def _teachers(qualities: Mapping[str, Quality]) -> Table:
    table = _table("Teachers on the public records", "ensemble", "teachers", "accuracy", "plurality")
    for name, one in qualities.items():
        table.add_row(name, str(one.teachers), _percent(one.accuracy), _percent(one.plurality))
    return table


def _labels(title: str, found: Found, notion: str) -> Table:
    """Return Tables 4 and 5, with the published labels in brackets if costs are counted the same way."""
    dataset = title.partition(",")[0]
    compared = notion == PAPER.name
    table = _table(f"{title}: labels, {notion}", "higher", "%", *COLUMNS.values())
    for pair in [(factor, ratio) for factor in FACTORS for ratio in RATIOS]:
        published = {**paper.VARIANTS[dataset][pair]._asdict(), "average": paper.AVERAGE[dataset][pair]}
        cells = [
            _count(found.get((variant, *pair, notion)), published.get(variant) if compared else None)
            for variant in COLUMNS
        ]
        table.add_row(*_names(pair), *cells)
    one = {1: paper.MINIMUM[dataset], **paper.MAXIMUM[dataset]}
    for factor, most in one.items():
        key = ("minimum" if factor == 1 else "maximum", factor, 0, notion)
        table.add_row(f"log {2**factor}", "all", _count(found.get(key), most if compared else None))
    return table


def _labels_when_skewed(found: Found) -> Table:
    names = [notion.name for notion in NOTIONS]
    table = _table(
        "adult: labels where the rarer class alone has copies (Table 6)", "higher", "%", *names, "average"
    )
    for pair in _pairs_when_skewed():
        published = paper.SKEWED[pair]
        cells = [
            _count(found.get(("skewed", *pair, name)), published.labels if name == PAPER.name else None)
            for name in names
        ]
        average = _count(found.get(("skewed average", *pair, PAPER.name)), published.average)
        table.add_row(*_names(pair), *cells, average)
    return table


def _quality_when_skewed(found: Found, qualities: Mapping[str, Quality]) -> Table:
    columns = "voting accuracy", "teachers' precision", "teachers' recall"
    table = _table("adult: the same ensembles in % (Table 7)", "higher", "%", *columns)
    for pair in _pairs_when_skewed():
        measure = found.get(("skewed", *pair, PAPER.name))
        if measure is None:
            continue
        one = qualities[Cell("adult", "skewed", *pair).file_name]
        published = paper.SKEWED[pair]
        table.add_row(
            *_names(pair),
            _beside(measure.accuracy, published.accuracy),
            _beside(one.precision, published.precision),
            _beside(one.recall, published.recall),
        )
    plain = qualities["adult-plain"]
    table.add_row(
        "log 2",
        "all",
        _beside(found["minimum", 1, 0, PAPER.name].accuracy, paper.PLAIN["accuracy"]),
        _beside(plain.precision, paper.PLAIN["precision"]),
        _beside(plain.recall, paper.PLAIN["recall"]),
    )
    return table


def _students(found: Found) -> Table:
    least = _student(found, ("minimum", 1, 0), PAPER.name, paper.MINIMUM_STUDENT["adult"])
    title = f"adult: students in % (Table 10); one budget of log 2: {least}"
    table = _table(title, "higher", "%", "upsampling", "average", "maximum", "upsampling, exact")
    for pair in _pairs_when_skewed():
        published = paper.SKEWED[pair]
        table.add_row(
            *_names(pair),
            _student(found, ("skewed", *pair), PAPER.name, published.student),
            _student(found, ("skewed average", *pair), PAPER.name, published.average_student),
            _student(found, ("maximum", pair[0], 0), PAPER.name, paper.MAXIMUM_STUDENT["adult"][pair[0]]),
            _student(found, ("skewed", *pair), NOTIONS[1].name, None),
        )
    return table


def _student(found: Found, key: tuple[str, int, int], notion: str, published: float | None) -> str:
    measure = found.get((*key, notion))
    return _beside(measure.student if measure else None, published)


def _pairs_when_skewed() -> list[tuple[int, int]]:
    return [(factor, ratio) for factor in FACTORS for ratio in SKEWED_RATIOS]


def _names(pair: tuple[int, int]) -> tuple[str, str]:
    return f"log {2 ** pair[0]}", str(pair[1])


def _count(measure: Measure | None, published: int | None) -> str:
    """Return labels, with a plus if public records ran out first, and the published ones in brackets."""
    if measure is None:
        return NOT_RUN
    more = "+" if measure.whole_pool else ""
    return f"{measure.labels:.0f}{more}" + ("" if published is None else f" ({published})")


def _beside(value: float | None, published: float | None) -> str:
    return (NOT_RUN if value is None else _percent(value)) + (
        "" if published is None else f" ({published:.1f})"
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table
