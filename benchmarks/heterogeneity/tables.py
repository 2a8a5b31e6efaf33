"""What was measured, beside 004's Table 1."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from benchmarks.heterogeneity import paper
from benchmarks.heterogeneity.cells import Cell
from benchmarks.heterogeneity.measures import GAMMAS, QUERIES, Setting

WIDTH = 110
"""Characters that the widest table takes."""
NONE = "-"


def tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """Yields ensembles, Table 1 with 004's numbers in brackets, and everything by setting."""
    yield _ensembles(cells)
    yield _students(cells)
    yield _labels(cells)


def _ensembles(cells: Sequence[Cell]) -> Table:
    table = _table("Ten teachers, in %", "s %", "training", "one teacher", "plurality")
    for cell in cells:
        table.add_row(*_names(cell), _percent(cell.teacher), _percent(cell.plurality))
    return table


def _students(cells: Sequence[Cell]) -> Table:
    columns = [Setting(gamma, queries, confident=False) for queries in QUERIES for gamma in GAMMAS]
    heads = [f"{one.queries} queries, gamma {one.gamma:g}" for one in columns]
    table = _table("Students by LNMax, in % (004, Table 1)", "s %", "training", *heads)
    for cell in cells:
        found = [_percent(cell.measures[one].student) for one in columns]
        published = [_published(cell, one) for one in columns]
        table.add_row(
            *_names(cell), *(f"{ours}{theirs}" for ours, theirs in zip(found, published, strict=True))
        )
    return table


def _labels(cells: Sequence[Cell]) -> Table:
    heads = "queries", "gamma", "mechanism", "answered", "right %", "student %", "worst case", "exact"
    table = _table("Labels, and epsilon at delta 1e-5", "s %", "training", *heads)
    for cell in cells:
        for setting, one in cell.measures.items():
            table.add_row(
                *_names(cell),
                str(setting.queries),
                f"{setting.gamma:g}",
                setting.mechanism.kind,
                f"{one.answered:.0f}",
                _percent(one.labels),
                _percent(one.student),
                f"{one.worst_case:.2f}",
                f"{one.exact:.2f}",
            )
    return table


def _published(cell: Cell, setting: Setting) -> str:
    known = paper.TABLE.get(cell.training, {}).get((cell.similarity, setting.queries, setting.gamma))
    return "" if known is None else f" ({known:.1f})"


def _names(cell: Cell) -> tuple[str, str]:
    return str(cell.similarity), cell.training.value


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table
