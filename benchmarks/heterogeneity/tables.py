"""Measurements, next to Table 1 of Dodwadmath and Stich 2022."""

from collections.abc import Iterator, Sequence

from rich.table import Table

from benchmarks.heterogeneity import paper
from benchmarks.heterogeneity.cells import Cell
from benchmarks.heterogeneity.measures import GAMMAS, QUERIES, Setting
from benchmarks.heterogeneity.teachers import training_rdp
from benchmarks.heterogeneity.voting import DELTA
from ostraka.common.privacy import ORDERS, epsilon

WIDTH = 110
"""Characters of the widest table."""
NONE = "-"


def tables(cells: Sequence[Cell]) -> Iterator[Table]:
    """Yield ensembles, Table 1 with the published numbers in brackets, and everything by setting."""
    yield _ensembles(cells)
    yield _students(cells)
    yield _labels(cells)


def _ensembles(cells: Sequence[Cell]) -> Table:
    table = _table("Ten teachers, in %", "s %", "training", "one teacher", "plurality", "epsilon of training")
    for cell in cells:
        table.add_row(*_names(cell), _percent(cell.teacher), _percent(cell.plurality), _training(cell))
    return table


def _students(cells: Sequence[Cell]) -> Table:
    columns = [Setting(gamma, queries, confident=False) for queries in QUERIES for gamma in GAMMAS]
    heads = [f"{one.queries} queries, gamma {one.gamma:g}" for one in columns]
    table = _table("Students by LNMax, in % (Dodwadmath and Stich 2022, Table 1)", "s %", "training", *heads)
    for cell in cells:
        found = [_percent(cell.measures[one].student) for one in columns]
        published = [_paper_figure(cell, one) for one in columns]
        table.add_row(
            *_names(cell), *(f"{ours}{theirs}" for ours, theirs in zip(found, published, strict=True))
        )
    return table


def _labels(cells: Sequence[Cell]) -> Table:
    heads = "queries", "gamma", "mechanism", "answered", "right %", "student %", "worst case", "exact"
    table = _table("Labels, and epsilon of training and labels at delta 1e-5", "s %", "training", *heads)
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
                _number(one.worst_case),
                _number(one.exact),
            )
    return table


def _paper_figure(cell: Cell, setting: Setting) -> str:
    known = paper.TABLE.get(cell.training, {}).get((cell.similarity, setting.queries, setting.gamma))
    return "" if known is None else f" ({known:.1f})"


def _names(cell: Cell) -> tuple[str, str]:
    return str(cell.similarity), cell.training.value


def _training(cell: Cell) -> str:
    """Return the cost of training; for TTAC, that there is no guarantee."""
    rdp = training_rdp(cell.training)
    return "no guarantee" if rdp is None else f"{epsilon(rdp.tolist(), list(ORDERS), DELTA):.2f}"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}"


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f}"


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, justify="right")
    return table
