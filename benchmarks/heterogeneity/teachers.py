"""Ensembles of ten teachers with more or less similar records; only their votes are cached.

A new kind of teachers needs a member of `Training`, a function in `TRAININGS`, its cost in `training_rdp` and
a line in `plot.LINES`; published numbers, if any, go under its name in `paper.TABLE`. Cache, tables and plot
then include it.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.heterogeneity.data import Records, Split
from benchmarks.heterogeneity.networks import Votes, answers
from benchmarks.heterogeneity.together import DP_TTAC, TTAC, learn
from ostraka.common.privacy import ORDERS
from ostraka.deploy.simulation.schemes import label_sorted
from ostraka.guardian.accounting.numerics.arguments import Floats

TEACHERS = 10  # the paper's
SIMILARITIES = (0, 1, 10, 100)
"""Percentages of records distributed at random; the others are sorted by label."""
SEED = 4  # any value; constant, so the cache stays valid
EPOCHS = 10
"""Epochs of conventional teachers."""


class Training(StrEnum):
    """How teachers are trained."""

    CONVENTIONAL = "conventional"
    TTAC = "ttac"
    DP_TTAC = "dp-ttac"


def shards(private: Records, similarity: float) -> Sequence[Records]:
    """Return every teacher's records, the same for every training."""
    held = label_sorted(private.y, TEACHERS, similarity, np.random.default_rng(SEED))
    return [private.rows(rows) for rows in held]


def votes(training: Training, similarity: float, split: Split, cache: Path) -> Votes:
    """Return the class each teacher votes for, uint8 (TEACHERS, public); trained if not in the cache."""
    file = cache / f"{training}-{similarity:g}.npy"
    if not file.exists():
        cast = TRAININGS[training](shards(split.private, similarity), split.public.X)
        cache.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.npy")
        np.save(partial, cast)
        partial.rename(file)
    cached: Votes = np.load(file)
    return cached


def conventional(held: Sequence[Records], X: NDArray[np.float32]) -> Votes:
    """Train every teacher on its own records alone."""
    return answers(held, SEED, X, EPOCHS)


TRAININGS: Mapping[Training, Callable[[Sequence[Records], NDArray[np.float32]], Votes]] = {
    Training.CONVENTIONAL: conventional,
    Training.TTAC: partial(learn, TTAC, SEED),
    Training.DP_TTAC: partial(learn, DP_TTAC, SEED),
}
"""Each takes every teacher's records and public records (Q, *shape), and returns votes (TEACHERS, Q)."""


def training_rdp(training: Training) -> Floats | None:
    """Return the cost of training to a record, rdp at `ORDERS`; None for TTAC, which has no guarantee."""
    return {
        Training.CONVENTIONAL: np.zeros(len(ORDERS)),
        Training.TTAC: None,
        Training.DP_TTAC: DP_TTAC.rdp,
    }[training]
