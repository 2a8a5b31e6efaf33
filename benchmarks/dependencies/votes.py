"""One federation's votes: parties' models on a pool, and implications in the querying party's own records."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.caching import digest
from benchmarks.capc_multilabel.data import Records, load
from benchmarks.capc_multilabel.data import Setting as Shared
from benchmarks.capc_multilabel.models import LEARNING, fit, scores
from benchmarks.dependencies.parents import choose_parents
from ostraka.client.dependencies.learn import SUPPORT, Absences

YES = 0.5  # probability from which a teacher votes yes, as `ostraka.common.sharing.ballots.YES`


@dataclass(frozen=True)
class Votes:
    """Votes and labels before any noise.

    Attributes:
        yes: votes of the answering parties' models, party by party, bool (models, pool, labels).
        true: the pool's labels, int64 (pool, labels), used only for metrics.
        own: labels of the querying party's records, int64 (N, labels).
    """

    yes: NDArray[np.bool_]
    true: NDArray[np.int64]
    own: NDArray[np.int64]

    def families(self, confidence: float) -> dict[int, tuple[int, ...]]:
        """Return the children of each parent, learned from the querying party's own labels."""
        found: dict[int, list[int]] = {}
        for child, parent in choose_parents(Absences.of(self.own).gains(confidence, SUPPORT)).items():
            found.setdefault(parent, []).append(child)
        return {parent: tuple(children) for parent, children in found.items()}


def votes(setting: Shared, teachers: int, pool: int, seed: int, cache: Path) -> Votes:
    """Read a seed's votes from the cache, or train `teachers` of each party and cache their votes.

    The first of `setting.parties` parties asks, the others answer.
    """
    settings = digest(setting.parties, teachers, pool, LEARNING)
    file = cache / f"votes-{setting.name}-{seed}-{settings}.npz"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial.npz")
        np.savez_compressed(partial, **vars(_train(setting, teachers, pool, seed)))
        partial.rename(file)
    with np.load(file) as arrays:
        return Votes(**arrays)


def _train(setting: Shared, teachers: int, pool: int, seed: int) -> Votes:
    train, other = load(setting)
    random = np.random.default_rng(seed)
    own, *others = (
        train.rows(rows) for rows in np.array_split(random.permutation(len(train.X)), setting.parties)
    )
    asked: Records = other.rows(random.permutation(len(other.X))[:pool])
    labels = train.y.shape[1]
    slices = [
        party.rows(rows) for party in others for rows in np.array_split(np.arange(len(party.X)), teachers)
    ]
    return Votes(scores(fit(slices, seed), asked.X, labels) >= YES, asked.y, own.y)
