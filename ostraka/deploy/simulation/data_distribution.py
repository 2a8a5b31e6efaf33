"""Distribution of records: every party's records by class, as a report lists and draws them."""

from collections.abc import Sequence

import numpy as np

from ostraka.common.datasets import Dataset
from ostraka.common.validation import FrozenModel
from ostraka.deploy.simulation.settings import Settings


class Holding(FrozenModel):
    """One party's records.

    ``counts`` are those of each class, or of several labels those that have it; in the order of the task's
    classes.
    """

    party: str
    records: int
    counts: tuple[int, ...]


def count_holdings(sites: Sequence[str], shards: Sequence[Dataset], classes: int) -> tuple[Holding, ...]:
    """Count the records of every site's shard."""
    return tuple(
        Holding(party=site, records=len(shard), counts=tuple(_counts(shard, classes)))
        for site, shard in zip(sites, shards, strict=True)
    )


def split_words(settings: Settings) -> str:
    """How records were shared out, by the names of the settings."""
    if settings.similarity is not None:
        return f"{settings.split}, {settings.similarity:g}% of the records at random"
    if settings.alpha is not None:
        return f"{settings.split}, alpha {settings.alpha:g}"
    if settings.by is not None:
        return f"{settings.split} {settings.by}"
    return f"{settings.split}, all records at random"


def _counts(shard: Dataset, classes: int) -> list[int]:
    y = shard.labels()
    counts = (y == 1).sum(axis=0) if shard.multi_label else np.bincount(y, minlength=classes)
    return [int(count) for count in counts]
