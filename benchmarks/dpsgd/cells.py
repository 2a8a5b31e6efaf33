"""Trainings, each done once and cached."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.caching import digest
from benchmarks.dpsgd.data import DELTA, Problem, load
from benchmarks.dpsgd.learning import dpsgd
from benchmarks.dpsgd.measures import Measure, measure
from ostraka.common.files.durable import write_atomic

SEEDS = 3  # a deviation needs several, and each one trains every cell anew


@dataclass(frozen=True)
class Cell:
    """One training of one problem: its measure, and its noise.

    Attributes:
        problem: name of the data.
        epsilon: the target; None without a guarantee.
        checked: epsilon by dp_accounting.
        multiplier: of the noise.
        measure: on the test records.
    """

    problem: str
    epsilon: float | None
    checked: float | None
    multiplier: float | None
    measure: Measure


def cell(problem: Problem, epsilon: float | None, seed: int, cache: Path) -> Cell:
    """Return a cell from the cache, or train and cache it."""
    named = "plain" if epsilon is None else f"{epsilon:.3g}"
    settings = digest(problem.network, problem.training, epsilon, DELTA)
    file = cache / f"{problem.name}-{named}-{seed}-{settings}.json"
    if not file.exists():
        cache.mkdir(parents=True, exist_ok=True)
        write_atomic(file, json.dumps(asdict(_train(problem, epsilon, seed))))
    kept = json.loads(file.read_text())
    return Cell(**kept | {"measure": Measure(**kept["measure"])})


def cells(problem: Problem, cache: Path, advance: Callable[[], None]) -> list[Cell]:
    """Return a cell for each epsilon of a problem, and None, for SEEDS seeds; call `advance` after each."""
    found = []
    for epsilon in (None, *problem.epsilons):
        for seed in range(SEEDS):
            found.append(cell(problem, epsilon, seed, cache))
            advance()
    return found


def mean_and_deviation(measures: Sequence[Measure]) -> tuple[Measure, Measure]:
    """Return the means, and the sample standard deviations (0 for a single one)."""
    every = np.array([list(asdict(one).values()) for one in measures])
    deviation = every.std(axis=0, ddof=1) if len(every) > 1 else np.zeros(every.shape[1])
    return Measure(*every.mean(axis=0).tolist()), Measure(*deviation.tolist())


def _train(problem: Problem, epsilon: float | None, seed: int) -> Cell:
    split = load(problem)
    trained = dpsgd(
        split.X,
        split.y,
        epsilon,
        DELTA,
        classes=split.classes,
        network=problem.network,
        training=problem.training,
        seed=seed,
    )
    noise = trained.noise
    return Cell(
        problem.name,
        epsilon,
        None if noise is None else noise.epsilon(DELTA),
        None if noise is None else noise.multiplier,
        measure(split.y_test, trained.predict_proba(split.X_test)),
    )
