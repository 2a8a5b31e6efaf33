"""Table 4 of 000 for one seed: three ways to spend the same epsilon."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from benchmarks.capc_multilabel.data import QUICK as DIGITS
from benchmarks.capc_multilabel.data import SETTINGS as SHARED
from benchmarks.capc_multilabel.data import Setting as Shared
from benchmarks.dependencies.asking import ask_all, ask_parents_first, noise_for
from benchmarks.dependencies.votes import Votes, votes
from benchmarks.dpsgd.measures import Measure, measure
from common.files import write_atomic
from guardian.noise import NoiseSource, OpenDpNoise

Way = Literal["all labels", "more noise", "dependencies"]


@dataclass(frozen=True)
class Setting:
    """A dataset, how it is asked, and how sure dependencies are.

    Attributes:
        shared: its parties.
        teachers: models of each party, which share its records.
        pool: queries that may be asked.
        sigma: noise of the first and the last way.
        confidence: of dependencies, learned on the querying party's own records.
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
    """What one way came to.

    Attributes:
        way: how epsilon was spent.
        sigma: noise, in votes.
        answered: queries that one budget paid for.
        worst: queries that it would pay for at worst-case costs.
        questions: labels asked of a query, on average.
        epsilon: of the queries that metrics are of, which are the same for all ways.
        found: metrics of these queries' labels, and `pool` of the whole pool's, asked in the same way.
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
    """One dataset and seed: labels, those of them that depend on another, the queries that are measured."""

    dataset: str
    seed: int
    labels: int
    children: int
    queries: int
    rows: tuple[Row, ...]


def cell(setting: Setting, seed: int, cache: Path) -> Cell:
    """Read a cell from the cache, or measure and keep it."""
    file, form = cache / f"{setting.shared.name}-{seed}.json", TypeAdapter(Cell)
    if not file.exists():
        own = votes(setting.shared, setting.teachers, setting.pool, seed, cache)
        write_atomic(file, form.dump_json(_measured(setting, own, seed), indent=1).decode())
    return form.validate_json(file.read_bytes())


def _measured(setting: Setting, own: Votes, seed: int) -> Cell:
    counts, n = own.yes.sum(axis=0, dtype=np.int64), len(own.yes)
    noise, sigma = OpenDpNoise(), setting.sigma
    families = own.families(setting.confidence)
    whole = {
        "all labels": ask_all(counts, n, sigma, noise, "exact"),
        "dependencies": ask_parents_first(counts, n, sigma, families, noise, "exact"),
    }
    queries = whole["dependencies"].fitting
    louder = noise_for(counts[:queries], n, "exact")
    whole["more noise"] = ask_all(counts, n, louder, noise, "exact")
    ways: tuple[tuple[Way, float], ...] = (
        ("all labels", sigma),
        ("more noise", louder),
        ("dependencies", sigma),
    )
    return Cell(
        dataset=setting.shared.name,
        seed=seed,
        labels=counts.shape[1],
        children=sum(map(len, families.values())),
        queries=queries,
        rows=tuple(
            Row(
                way=way,
                sigma=used,
                answered=whole[way].fitting,
                worst=_worst(counts, n, used, families if way == "dependencies" else {}, noise),
                questions=float(whole[way].questions[:queries].mean()),
                epsilon=whole[way].epsilon(queries),
                found=measure(own.true[:queries], whole[way].labels[:queries].astype(np.float64)),
                pool=measure(own.true, whole[way].labels.astype(np.float64)),
            )
            for way, used in ways
        ),
    )


def _worst(
    counts: NDArray[np.int64], n: int, sigma: float, families: dict[int, tuple[int, ...]], noise: NoiseSource
) -> int:
    """Queries that fit where every answer is charged at worst."""
    return ask_parents_first(counts, n, sigma, families, noise, "worst_case").fitting
