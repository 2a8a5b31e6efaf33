"""Numbers of the tables, each measured once and cached."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.caching import digest
from benchmarks.label_dp.data import Dataset, Size
from benchmarks.label_dp.methods import Bench, Measure
from benchmarks.label_dp.settings import (
    BASELINES,
    EPSILONS,
    METHODS,
    NOISE_CLUSTER,
    NON_PRIVATE,
    VERY_SMALL,
    settings,
)
from ostraka.common.files.durable import write_atomic


@dataclass(frozen=True)
class Cell:
    """One number.

    Attributes:
        dataset: the data set.
        method: how labels are made private and learned from.
        epsilon: of label-DP; None without privacy.
        seed: of data, weights and views.
    """

    dataset: Dataset
    method: str
    epsilon: float | None
    seed: int

    def name(self, size: Size) -> str:
        """Return the name in the cache, which identifies the settings."""
        of_settings = digest(*settings(self.method, size))
        return f"{self.dataset}-{self.method}-{self.epsilon or 0:g}-{self.seed}-{of_settings}"


def cells(dataset: Dataset, seeds: int) -> Iterator[Cell]:
    """Yield every cell of a dataset's table."""
    for seed in range(seeds):
        for epsilon in (VERY_SMALL, *EPSILONS):
            yield Cell(dataset, NOISE_CLUSTER, epsilon, seed)
        for method in (*METHODS, *BASELINES):
            for epsilon in EPSILONS:
                yield Cell(dataset, method, epsilon, seed)
        yield Cell(dataset, NON_PRIVATE, None, seed)


def load_or_measure(cell: Cell, size: Size, bench: Callable[[Dataset, int], Bench], cache: Path) -> Measure:
    """Return a cell's measure, cached if possible."""
    file = cache / f"{cell.name(size)}.json"
    if not file.exists():
        start = time.perf_counter()
        found = bench(cell.dataset, cell.seed).measure(cell.method, cell.epsilon)
        seconds = round(time.perf_counter() - start, 1)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(file, json.dumps(asdict(found) | {"seconds": seconds}))
    return Measure(**json.loads(file.read_text()))
