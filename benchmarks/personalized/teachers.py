"""Teachers of a cell, trained by the project's own code; only their votes are kept."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.personalized.cells import Cell, deal
from benchmarks.personalized.data import PARAMETERS, Split
from ostraka.services.teachers.config import NETWORKS, TrainingConfig
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.slices import Slice

BLOCK = 25
"""Teachers trained, and stored, at a time: what an interruption loses."""
SEED = 30

Votes = NDArray[np.uint8]
Advance = Callable[[int], None]


class Ensembles:
    """The votes of every cell's teachers on the public records, kept in a folder."""

    def __init__(self, cache: Path) -> None:
        """Take the folder and create it."""
        self._cache = cache
        cache.mkdir(parents=True, exist_ok=True)

    def trained(self, cell: Cell, teachers: int) -> bool:
        """Whether all votes of a cell of `teachers` are there."""
        return all(self._file(cell, rows).exists() for rows in _blocks(teachers))

    def votes(self, cell: Cell, split: Split, advance: Advance) -> Votes:
        """Return the class every teacher votes for, uint8 (teachers, public), training those not there.

        `advance` is told how many more teachers are done.
        """
        held = slices(cell, split)
        for rows in _blocks(len(held)):
            file = self._file(cell, rows)
            if not file.exists():
                _write(file, _trained(cell, split, held, rows))
            advance(len(rows))
        return np.concatenate([np.load(self._file(cell, rows)) for rows in _blocks(len(held))])

    def _file(self, cell: Cell, rows: range) -> Path:
        return self._cache / f"{cell.file_name}-{rows.start:04d}-{rows.stop:04d}.npy"


def slices(cell: Cell, split: Split) -> Sequence[NDArray[np.int64]]:
    """Return each teacher's records, as indices into the private ones; more teachers for more copies."""
    random = np.random.default_rng((SEED, *cell.name.encode()))
    copies = cell.copies(split.private.y, random)
    return deal(copies, ensemble_size(cell, split), random)


def ensemble_size(cell: Cell, split: Split) -> int:
    """Return how many teachers a cell has: Table 2's, more in proportion to the copies.

    Mühl and Boenisch 2022, Appendix B.
    """
    return round(PARAMETERS[cell.dataset].teachers * cell.mean_copies(split.private.y))


def _blocks(teachers: int) -> list[range]:
    return [range(start, min(start + BLOCK, teachers)) for start in range(0, teachers, BLOCK)]


def _trained(cell: Cell, split: Split, held: Sequence[NDArray[np.int64]], rows: range) -> Votes:
    private = split.private
    parts = [Slice(private.X[held[row]], private.y[held[row]], (SEED, row)) for row in rows]
    X = split.public.X.reshape(len(split.public.y), -1)
    return _predict(parts, cell, X).astype(np.uint8)


def _predict(parts: Sequence[Slice], cell: Cell, X: NDArray[np.float32]) -> NDArray[np.int64]:
    """Trains one model on each slice; returns their votes (slices, Q) on flat records (Q, F)."""
    model, classes = PARAMETERS[cell.dataset].model, PARAMETERS[cell.dataset].classes
    guard = VoteGuard(classes)
    if model not in NETWORKS:
        from ostraka.services.teachers.estimators import fit_estimators

        return np.asarray(fit_estimators(parts, model, classes, _silent).predict(X, guard))
    from ostraka.services.teachers.fitting import fit_networks
    from ostraka.services.teachers.nets import Networks

    config = TrainingConfig(teachers=len(parts), epochs=cell.epochs)
    nets = fit_networks(parts, model, classes, config, _silent)
    return np.asarray(Networks.of(model, parts[0].X.shape[1:], nets).predict(X, guard))


def _write(file: Path, votes: Votes) -> None:
    """Write a whole block or nothing."""
    partial = file.with_suffix(".partial.npy")
    np.save(partial, votes)
    partial.rename(file)


def _silent(done: int, total: int) -> None:
    """Tells nobody: blocks are progress enough."""
