"""The ensembles for the tables of Mühl and Boenisch 2022."""

from collections.abc import Sequence
from dataclasses import replace

from benchmarks.personalized.cells import Cell, cells
from benchmarks.personalized.data import SMALL

QUICK_EPOCHS = 5
"""Epochs of teachers in quick runs."""


def ensembles_of(dataset: str, *, quick: bool) -> Sequence[Cell]:
    """Return the ensembles of a dataset's tables, starting with the plain one; only a few in quick runs."""
    if not quick:
        return [one for one in cells(dataset) if one.epochs is None]
    plain = Cell(f"{dataset}{SMALL}", "plain", epochs=QUICK_EPOCHS)
    random = replace(plain, kind="random", factor=2, ratio=50)
    return [plain, random, *([replace(random, kind="skewed")] if dataset == "adult" else [])]
