"""Cross-validation of own records: each part is scored by a model that did not use it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ostraka.client.learners.problem import OwnRecords
from ostraka.common.sums.feature_map import Floats

OWN_FOLDS = 5
"""Number of folds: a model of four fifths of own records is nearly as good as one of all."""


@dataclass(frozen=True)
class OwnFold:
    """A fold of own records: the held-out part, and the rest."""

    held_out: OwnRecords
    rest: OwnRecords


def own_folds(own: OwnRecords) -> Iterator[OwnFold]:
    """Yield every fold of own records; with a single record, the rest is empty."""
    for there in _parts(own):
        yield OwnFold(OwnRecords(own.X[there], own.y[there]), OwnRecords(own.X[~there], own.y[~there]))


def gather(own: OwnRecords, parts: Sequence[Floats]) -> Floats:
    """Return the values of all parts, (n, k), in the order of own records."""
    gathered = np.empty((len(own), parts[0].shape[1]))
    for there, values in zip(_parts(own), parts, strict=True):
        gathered[there] = values
    return gathered


def _parts(own: OwnRecords) -> Iterator[NDArray[np.bool_]]:
    places = np.arange(len(own)) % OWN_FOLDS
    for part in np.unique(places):
        yield places == part
