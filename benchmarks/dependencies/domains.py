"""Two kinds of parties that each know half of the labels (Dziedzic et al. 2023, I.11)."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.dependencies.asking import BUDGET, ORDER
from benchmarks.dependencies.cells import Setting
from benchmarks.dependencies.votes import Votes, votes
from benchmarks.dpsgd.measures import Measure, measure
from ostraka.common.mechanism import Binary
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import Ring
from ostraka.guardian.mechanisms import release
from ostraka.guardian.noise import ExactNoise

HEADS = (
    "dataset",
    "who votes on what",
    "labels that a party pays for",
    "queries",
    "ACC",
    "BAC",
    "AUC",
    "mAP",
)
WAYS = (
    "every party on every label",
    "half of the parties on each label, counted by label",
    "half of the parties on each label, silence counted as no",
    "one half of the parties alone, on its labels",
)


@dataclass(frozen=True)
class Domain:
    """Results of one way of voting, averaged over seeds; epsilon 8 pays for `queries` in the worst case."""

    dataset: str
    way: str
    paid: int
    queries: int
    found: Measure

    def cells(self) -> tuple[str, ...]:
        """Return a row of a table."""
        numbers = (f"{100 * value:.1f}" for value in asdict(self.found).values())
        return self.dataset, self.way, str(self.paid), str(self.queries), *numbers


def domains(setting: Setting, seeds: Sequence[int], cache: Path) -> list[Domain]:
    """Measure every way on a dataset, with its setting's noise."""
    every = [votes(setting.shared, setting.teachers, setting.pool, seed, cache) for seed in seeds]
    return [_domain(setting, every, place) for place in range(len(WAYS))]


def _domain(setting: Setting, every: Sequence[Votes], place: int) -> Domain:
    parties, _, labels = every[0].yes.shape
    voting = _voting(parties, labels, place)
    n = np.full(labels, parties) if WAYS[place].endswith("no") else voting.sum(axis=0)
    found = [measure(one.true, _answers(one, voting, n, setting.sigma)) for one in every]
    paid = int(voting.sum(axis=1).max())
    each = Binary(sigma=setting.sigma).worst_case(ORDER, classes=paid).answer * paid
    means = np.mean([list(asdict(one).values()) for one in found], axis=0).tolist()
    return Domain(setting.shared.name, WAYS[place], paid, int(BUDGET / each), Measure(*means))


def _voting(parties: int, labels: int, place: int) -> NDArray[np.bool_]:
    """Return which parties vote on which labels, (parties, labels)."""
    if place == 0:
        return np.ones((parties, labels), dtype=np.bool_)
    first = np.arange(parties)[:, None] < parties // 2
    voting: NDArray[np.bool_] = first == (np.arange(labels) < labels // 2)
    return voting & first if place == len(WAYS) - 1 else voting


def _answers(
    own: Votes, voting: NDArray[np.bool_], n: NDArray[np.int64], sigma: float
) -> NDArray[np.float64]:
    """Return labels of the pool; 0 if nobody votes, as for a student that never saw the label."""
    counts = (own.yes & voting[:, None]).sum(axis=0, dtype=np.int64)
    totals = np.broadcast_to(n * VOTE, counts.shape)
    ring = Ring(64)
    answers = release(
        encode(counts, ring),
        Binary(sigma=sigma),
        ExactNoise(),
        ring,
        classes=counts.shape[1],
        totals=totals,
    )
    return np.where(answers.answered, answers.labels, 0).astype(np.float64)
