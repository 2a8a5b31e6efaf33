"""Run cells one after the other: recorded cells are not repeated, and failures do not stop the others."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from benchmarks.published import DATA
from benchmarks.reproduce.cell import Cell, Job, Outcome
from benchmarks.reproduce.store import Record, Store, by_older_code, digest_of, seeds_of
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_full, storage_full

Tell = Callable[[Cell, Record | None], None]


def waiting(cells: Sequence[Cell], store: Store, *, quick: bool) -> list[Cell]:
    """Return the cells that can run and have no record yet."""
    return [cell for cell in cells if cell.run and store.load(cell, quick=quick) is None]


def find_outdated(cells: Sequence[Cell], store: Store) -> list[Cell]:
    """Return the cells whose numbers on the page are by older code, the fastest first.

    A cell that was run again since is included: its new numbers must agree until the page shows them.
    """
    shown = ((cell, store.on_page(cell)) for cell in cells if cell.run)
    older = [cell for cell, record in shown if record and by_older_code(record, cell)]
    return sorted(older, key=lambda cell: estimate_seconds(cell, store, quick=False))


def affordable(cells: Sequence[Cell], store: Store, seconds: float) -> list[Cell]:
    """Return the first cells that together take at most `seconds`, by their estimates.

    A cell that is already stored takes no time.
    """
    takes = (
        0.0 if store.load(cell, quick=False) else estimate_seconds(cell, store, quick=False) for cell in cells
    )
    spent = accumulate(takes)
    return [cell for cell, until in zip(cells, spent, strict=True) if until <= seconds]


def estimate_seconds(cell: Cell, store: Store, *, quick: bool) -> float:
    """Return the processor seconds of a cell's last whole run, and at least those of a run without a cache.

    A run that reused another cell's teachers says little about a run elsewhere.
    """
    last = None if quick else store.whole(cell)
    return max((last and last.processor_seconds) or 0.0, cell.seconds[0 if quick else 1])


def has_data(cell: Cell) -> bool:
    """Whether the files that a cell needs are in the data folder."""
    return not _missing(cell)


def reproduce(cells: Sequence[Cell], store: Store, *, quick: bool, tell: Tell) -> Iterator[Record]:
    """Yield the records of cells; run the missing ones, and record each as soon as it has ended.

    `tell` is called when a cell begins, without a record, and when it has ended, with its record.

    Raises:
        OstrakaError: storage.full, which would affect all other cells as well.
    """
    for cell in cells:
        kept = store.load(cell, quick=quick)
        if kept is None:
            tell(cell, None)
            kept = _run(cell, store, quick)
            store.keep(kept)
            tell(cell, kept)
        yield kept


def _run(cell: Cell, store: Store, quick: bool) -> Record:
    seeds = seeds_of(cell, quick=quick)
    job = Job(quick, seeds, store.folder / "kept" / ("quick" if quick else "whole"))
    outcome = None
    error = None
    start = time.perf_counter()
    spent = _processor_seconds()
    try:
        job.folder.mkdir(parents=True, exist_ok=True)
        outcome = _outcome(cell, job)
    except Exception as problem:
        if is_full(problem) or (isinstance(problem, OstrakaError) and problem.code == ErrorCode.STORAGE_FULL):
            raise storage_full(store.folder) from problem
        error = (
            problem.message if isinstance(problem, OstrakaError) else f"{type(problem).__name__}: {problem}"
        )
    seconds = round(time.perf_counter() - start, 1)
    spent = round(_processor_seconds() - spent, 1)
    return Record(cell.id, digest_of(cell, quick=quick), quick, seeds, outcome, error, seconds, spent)


def _processor_seconds() -> float:
    """Return the processor seconds of this process and of its ended children so far."""
    return sum(os.times()[:4])


def _missing(cell: Cell) -> list[str]:
    return [name for name in cell.needs if not (DATA / name).exists()]


def _outcome(cell: Cell, job: Job) -> Outcome:
    if missing := _missing(cell):
        raise OstrakaError(
            ErrorCode.DATA_MISSING,
            f"{' and '.join(missing)} is not in the data folder; name the folder with --data, and "
            "`python -m benchmarks.get_data` says where people get it.",
        )
    assert cell.run is not None
    return cell.run(job)
