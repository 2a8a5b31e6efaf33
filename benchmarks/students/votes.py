"""The teachers' votes on the public pool, cast once and cached."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.students.data import Division
from benchmarks.students.settings import Setting
from ostraka.services.teachers import train

SEED = 0
"""Seed of the teachers' slices and training."""


def votes(
    setting: Setting, division: Division, cache: Path, progress: Callable[[int, int], None]
) -> NDArray[np.int64]:
    """Return the histogram of every record of the pool, int64 (P, classes); train teachers if needed."""
    file = cache / f"{setting.dataset}-votes.npy"
    if not file.exists():
        ensemble = train(
            division.private,
            division.task,
            setting.training,
            seed=SEED,
            progress=progress,
            unfinished=cache / f"{setting.dataset}-unfinished",
        )
        partial = file.with_suffix(".partial.npy")
        np.save(partial, histograms(ensemble.predict(division.pool), len(division.task.classes)))
        partial.rename(file)
    kept: NDArray[np.int64] = np.load(file)
    return kept


def histograms(cast: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Count the votes (teachers, P) for each class, int64 (P, classes)."""
    return np.stack([(cast == label).sum(axis=0) for label in range(classes)], axis=1)
