"""Table 4 of Dziedzic et al. 2023 for one seed: three ways to spend the same epsilon."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from benchmarks.caching import digest
from benchmarks.capc_multilabel.data import QUICK as DIGITS
from benchmarks.capc_multilabel.data import SETTINGS as SHARED
from benchmarks.capc_multilabel.data import Setting as Shared
from benchmarks.capc_multilabel.models import LEARNING
from benchmarks.dependencies.asking import DELTA, EPSILON, Counted, noise_for, parents_first
from benchmarks.dependencies.votes import Votes, votes
from benchmarks.dpsgd.measures import Measure, measure
from ostraka.client.dependencies.learn import SUPPORT
from ostraka.common.files.durable import write_atomic
from ostraka.guardian.noise import ExactNoise

Way = Literal["all labels", "more noise", "dependencies"]


@dataclass(frozen=True)
class Setting:
    """A dataset, how it is asked, and the confidence of dependencies.

    Attributes:
        shared: its parties.
        teachers: number of models of each party, which share its records.
        pool: number of queries that may be asked.
        sigma: noise of the first and the last way.
        confidence: of dependencies, learned from the querying party's own records.
    """

    shared: Shared
    teachers: int
    pool: int
    sigma: float
    confidence: float


_SHARED = {one.name: one for one in SHARED}
SETTINGS = (
    Setting(_SHARED["yeast"], teachers=5, pool=900, sigma=12.0, confidence=0.9),
    Setting(_SHARED["mediamill"], teachers=4, pool=3000, sigma=25.0, confidence=0.95),
)
QUICK = Setting(DIGITS, teachers=4, pool=300, sigma=5.0, confidence=0.9)


@dataclass(frozen=True)
class Row:
    """The result of one way.

    Attributes:
        way: how epsilon was spent.
        sigma: noise, in votes.
        answered: number of queries that one budget paid for.
        worst: number of queries that it would pay for at worst-case costs.
        questions: average number of labels asked per query.
        epsilon: of the queries in the metrics, which are the same for all ways.
        found: metrics of these queries' labels.
        pool: metrics of the whole pool's labels, asked in the same way.
    """

    way: Way
    sigma: float
    answered: int
    worst: int
    questions: float
    epsilon: float
    found: Measure
    pool: Measure


@dataclass(frozen=True)
class Cell:
    """One dataset and seed: its labels, the dependent ones among them, and the measured queries."""

    dataset: str
    seed: int
    labels: int
    children: int
    queries: int
    rows: tuple[Row, ...]


def cell(setting: Setting, seed: int, cache: Path) -> Cell:
    """Read a cell from the cache, or measure and cache it."""
    voted = setting.shared.parties, setting.teachers, setting.pool, LEARNING
    settings = digest(*voted, setting.sigma, setting.confidence, SUPPORT, EPSILON, DELTA)
    file = cache / f"{setting.shared.name}-{seed}-{settings}.json"
    form = TypeAdapter(Cell)
    if not file.exists():
        own = votes(setting.shared, setting.teachers, setting.pool, seed, cache)
        write_atomic(file, form.dump_json(_measure(setting, own, seed), indent=1).decode())
    return form.validate_json(file.read_bytes())


def _measure(setting: Setting, own: Votes, seed: int) -> Cell:
    positives = own.yes.sum(axis=0, dtype=np.int64)
    n = len(own.yes)
    noise = ExactNoise()
    families = own.families(setting.confidence)
    quiet = Counted(positives, n, setting.sigma)
    labels = quiet.release(noise)
    some, asked = parents_first(labels, families)
    queries = quiet.fitting(asked, "exact")
    everything = np.ones_like(asked)
    loud = Counted(positives, n, noise_for(positives[:queries], n))
    return Cell(
        dataset=setting.shared.name,
        seed=seed,
        labels=positives.shape[1],
        children=sum(map(len, families.values())),
        queries=queries,
        rows=(
            _row("all labels", quiet, labels, everything, own.true, queries),
            _row("more noise", loud, loud.release(noise), everything, own.true, queries),
            _row("dependencies", quiet, some, asked, own.true, queries),
        ),
    )


def _row(
    way: Way,
    counted: Counted,
    labels: NDArray[np.int64],
    asked: NDArray[np.bool_],
    true: NDArray[np.int64],
    queries: int,
) -> Row:
    given = labels.astype(np.float64)
    return Row(
        way=way,
        sigma=counted.sigma,
        answered=counted.fitting(asked, "exact"),
        worst=counted.fitting(asked, "worst_case"),
        questions=float(asked[:queries].sum(axis=1).mean()),
        epsilon=counted.epsilon(asked, queries),
        found=measure(true[:queries], given[:queries]),
        pool=measure(true, given),
    )
