"""Shards: the records of every party of a simulation."""

import numpy as np
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.schemes import Shards, by_values, dirichlet, iid, label_sorted
from ostraka.deploy.simulation.settings import Settings

_LISTED = 10
"""Columns that an error names."""


def shard_rows(data: Dataset, settings: Settings, random: np.random.Generator) -> Shards:
    """Return the rows of every party, in the order of the settings' sites, as the settings' split says.

    Raises:
        OstrakaError: `config.invalid` for a split by class of records with several labels, an unknown column,
            or one of fewer values than parties; `data.too_few` where a party has more teachers than records.
    """
    shards = _shards(data, settings, random)
    sizes = [len(rows) for rows in shards]
    least = int(np.argmin(sizes))
    if sizes[least] < settings.teachers:
        raise OstrakaError(
            ErrorCode.DATA_TOO_FEW,
            f"The data are too few: split {settings.split} gives {settings.sites[least]} {sizes[least]} of "
            f"{len(data)} records, for {settings.teachers} teachers. Ask for fewer teachers or parties, try "
            "another seed or a milder split, or bring more.",
        )
    return shards


def _shards(data: Dataset, settings: Settings, random: np.random.Generator) -> Shards:
    parties = settings.parties
    if settings.similarity is not None:
        return label_sorted(_classes(data, settings), parties, settings.similarity, random)
    if settings.alpha is not None:
        return dirichlet(_classes(data, settings), parties, settings.alpha, random)
    if settings.by is not None:
        return _by_column(data, settings, settings.by)
    return iid(len(data), parties, random)


def _by_column(data: Dataset, settings: Settings, column: str) -> Shards:
    if column not in data.columns:
        raise _unknown(data, settings, column)
    try:
        return by_values(data.X[:, data.columns.index(column)], settings.parties)
    except ValueError as error:
        raise _invalid(
            f"Setting by: column '{column}' has {error}, and no value may be at two of them; simulate fewer "
            "parties or split by another column."
        ) from error


def _classes(data: Dataset, settings: Settings) -> NDArray[np.int64]:
    if data.multi_label:
        raise _invalid(
            f"Setting split: {settings.split} is by class, and the records of {settings.data} have several "
            "labels each; split by column or iid."
        )
    return data.labels()


def _unknown(data: Dataset, settings: Settings, column: str) -> OstrakaError:
    if column in settings.label.split(","):
        return _invalid(
            f"Setting by: '{column}' is the label; split label-sorted with similarity 0 to share out by it."
        )
    listed = ", ".join(data.columns[:_LISTED]) + (", ..." if len(data.columns) > _LISTED else "")
    return _invalid(
        f"Setting by: {settings.data} has no column '{column}', but {listed}; correct it and simulate again."
    )


def _invalid(problem: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, problem)
