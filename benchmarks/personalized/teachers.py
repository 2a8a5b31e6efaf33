"""Teachers of a cell, trained by the project's own code; only their votes are cached."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.cells import STEP, Cell, deal
from benchmarks.personalized.data import PARAMETERS, Split
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import NETWORKS, TrainingConfig
from ostraka.services.teachers.guard import VoteGuard

BLOCK = 25
"""Number of teachers that are trained and stored together: the most that an interruption loses."""
SEED = 30  # any value; constant, so the cache stays valid

Votes = NDArray[np.uint8]
Advance = Callable[[int], None]


class Ensembles:
    """The votes of every cell's teachers on the public records, cached in a folder."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        cache.mkdir(parents=True, exist_ok=True)

    def has(self, cell: Cell, split: Split) -> bool:
        """Whether all votes of a cell are cached."""
        return all(
            self._file(part, rows).exists()
            for part in cell.parts
            for rows in _blocks(ensemble_size(part, split))
        )

    def votes(self, cell: Cell, split: Split, advance: Advance) -> Votes:
        """Return the class every teacher votes for, uint8 (teachers, public); train those not cached.

        `advance` is called with how many more teachers are done.
        """
        return np.concatenate([self._votes(part, split, advance) for part in cell.parts])

    def _votes(self, part: Cell, split: Split, advance: Advance) -> Votes:
        held = slices(part, split)
        for rows in _blocks(len(held)):
            file = self._file(part, rows)
            if not file.exists():
                _write(file, _train(part, split, held, rows))
            advance(len(rows))
        return np.concatenate([np.load(self._file(part, rows)) for rows in _blocks(len(held))])

    def _file(self, part: Cell, rows: range) -> Path:
        return self._cache / f"{part.file_name}-{rows.start:04d}-{rows.stop:04d}.npy"


def slices(part: Cell, split: Split) -> Sequence[NDArray[np.int64]]:
    """Return the records of each teacher of a cell's part, as indices into the private ones."""
    random = np.random.default_rng((SEED, *part.name.encode()))
    y = split.private.y
    if part.kind != "copy":
        copies = part.copies(y, random)
        return deal(copies, ensemble_size(part, split), random)
    shuffled = np.random.default_rng((SEED, *part.dataset.encode())).permutation(len(y))
    first, end = ((part.ratio - step) * len(y) // 100 for step in (STEP, 0))
    return np.array_split(random.permutation(shuffled[first:end]), ensemble_size(part, split))


def ensemble_size(cell: Cell, split: Split) -> int:
    """Return a cell's number of teachers: Table 2's, increased in proportion to the copies.

    Mühl and Boenisch 2022, Appendix B. Each further copy has an integer number of them.
    """
    teachers = PARAMETERS[cell.dataset].teachers
    if cell.kind == "copy":
        return round(teachers * STEP / 100)
    if cell.kind == "random":
        return sum(ensemble_size(part, split) for part in cell.parts)
    return round(teachers * cell.mean_copies(split.private.y))


def _blocks(teachers: int) -> list[range]:
    return [range(start, min(start + BLOCK, teachers)) for start in range(0, teachers, BLOCK)]


def _train(cell: Cell, split: Split, held: Sequence[NDArray[np.int64]], rows: range) -> Votes:
    private = split.private
    which = (cell.factor, cell.ratio) if cell.kind == "copy" else ()
    parts = [Slice(private.X[held[row]], private.y[held[row]], (SEED, row, *which)) for row in rows]
    return _predict(parts, cell, split.public.X).astype(np.uint8)


def _predict(parts: Sequence[Slice], cell: Cell, X: NDArray[np.float32]) -> NDArray[np.int64]:
    """Train one model on each slice; return their votes (slices, Q) on records (Q, *shape)."""
    model = PARAMETERS[cell.dataset].model
    classes = PARAMETERS[cell.dataset].classes
    if model in NETWORKS:
        from benchmarks.personalized.networks import answers

        return answers(parts, model, classes, TrainingConfig(teachers=len(parts), epochs=cell.epochs), X)
    from ostraka.services.teachers.estimators import fit_estimators

    fitted = fit_estimators(parts, model, classes, lambda done, total: None)
    return np.asarray(fitted.predict(X, VoteGuard(classes)))


def _write(file: Path, votes: Votes) -> None:
    """Write a block atomically."""
    partial = file.with_suffix(".partial.npy")
    np.save(partial, votes)
    partial.rename(file)
