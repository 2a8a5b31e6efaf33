"""The parties' models, trained by the project's own code; their predictions are cached in a folder."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.capc_multilabel.data import QUERYING, Records, Split
from benchmarks.capc_multilabel.linear import REGULARISATION, STEPS
from benchmarks.dpsgd.measures import YES
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.estimators import Estimators, fit_estimators
from ostraka.services.teachers.guard import VoteGuard

MODEL = "benchmarks.capc_multilabel.linear:linear"
LEARNING = MODEL, REGULARISATION, STEPS
"""The model of every party, and its training."""
Scores = NDArray[np.float32]


@dataclass(frozen=True)
class Said:
    """Probabilities of labels by the models of one seed's parties.

    Attributes:
        asked: by every party's model, for the records of all pools, (parties, pools, labels).
        querying: the QUERYING weakest parties, int64, the weakest first.
        tested: by their own models, for the test records, (QUERYING, test, labels).
        initial: by one model of all training records, for the test records, (test, labels).
        initial_pool: likewise for all pools, (pools, labels).
    """

    asked: Scores
    querying: NDArray[np.int64]
    tested: Scores
    initial: Scores
    initial_pool: Scores


def fit(parts: Sequence[Records], seed: int) -> Estimators:
    """Train a model on each part, with equal weights of a label's yes and no."""
    slices = [Slice(part.X, part.y, (seed, place)) for place, part in enumerate(parts)]
    return fit_estimators(slices, MODEL, parts[0].y.shape[1], _silent, balanced=True)


def scores(models: Estimators, X: NDArray[np.float32], labels: int) -> Scores:
    """Return the models' probabilities of labels, (models, Q, labels)."""
    found: Scores = models.predict(X, VoteGuard(labels, multi_label=True))
    return found


def load_or_predict(split: Split, seed: int, file: Path) -> Said:
    """Read the probabilities of the parties' models from `file`, or train the models and write them there."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.npz")
        np.savez(partial, **vars(_predict(split, seed)))
        partial.rename(file)
    with np.load(file) as arrays:
        return Said(**arrays)


def weakest(asked: Scores, y: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the QUERYING parties with the lowest balanced accuracy on pools; no model learns these
    labels."""
    quality = [balanced_accuracy(y, own) for own in asked]
    return np.argsort(quality, kind="stable")[:QUERYING].astype(np.int64)


def balanced_accuracy(y: NDArray[np.int64], found: Scores | NDArray[np.int64]) -> float:
    """Return the mean over labels that are not constant; NaN if there is none.

    Records whose label is UNKNOWN in `found` do not count.
    """
    known = found != UNKNOWN
    true = (y == 1) & known
    false = (y == 0) & known
    told = true.any(axis=0) & false.any(axis=0)
    if not told.any():
        return float("nan")
    yes = found[:, told] >= YES
    true = true[:, told]
    false = false[:, told]
    return float((np.mean(yes, axis=0, where=true) + np.mean(~yes, axis=0, where=false)).mean() / 2)


def _predict(split: Split, seed: int) -> Said:
    own = [split.of(party) for party in range(len(split.shares))]
    asked = scores(fit(own, seed), split.pool.X, split.labels)
    querying = weakest(asked, split.pool.y)
    tested = scores(fit([own[party] for party in querying], seed), split.test.X, split.labels)
    whole = fit([split.private], seed)
    initial, initial_pool = (scores(whole, part.X, split.labels)[0] for part in (split.test, split.pool))
    return Said(asked, querying, tested, initial, initial_pool)


def _silent(done: int, total: int) -> None:
    """Do nothing: cells are enough progress."""
