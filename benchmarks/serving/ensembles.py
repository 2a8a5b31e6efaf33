"""Training and votes of a party's teachers in every layout, compared with a plain loop."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from rich.table import Table
from torch import nn

from ostraka.common.learning.device import AUTO, Device
from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.config import TrainingConfig
from ostraka.services.teachers.fitting import fit_networks
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.layouts.layouts import Layout, Work, fastest
from ostraka.services.teachers.nets import Networks

SIDE = 28  # of MNIST's images, in pixels
CLASSES = 10  # MNIST's
RECORDS = 240
"""Number of images in each teacher's slice."""
QUERIES = 1000  # enough that one-time work is negligible
LOOP: Layout = "loop"


@dataclass(frozen=True)
class Case:
    """The networks to measure.

    Attributes:
        model: a built-in name.
        epochs: passes over each slice.
        layouts: to compare, including the loop.
    """

    model: str
    epochs: int
    layouts: Sequence[Layout]


LINEAR: Sequence[Layout] = (LOOP, "workers", "stacked", "products")
CONVOLUTIONAL: Sequence[Layout] = (LOOP, "workers", "stacked", "grouped")
CASES = (
    Case("logistic", 20, LINEAR),
    Case("mlp", 12, LINEAR),
    Case("square-mlp", 12, LINEAR),
    Case("cnn", 3, CONVOLUTIONAL),
    Case("square-cnn", 3, CONVOLUTIONAL),
    Case("resnet", 1, (LOOP, "workers")),
)


@dataclass(frozen=True)
class Cost:
    """Cost of one run.

    Attributes:
        wall_s: elapsed time.
        processor_s: of all cores together, which depends less on other load.
    """

    wall_s: float
    processor_s: float


@dataclass(frozen=True)
class Measured:
    """One layout of one model: the fastest of several runs.

    Attributes:
        chosen: the work for which parties use it.
        loop: the plain loop's cost in the same runs.
    """

    model: str
    layout: Layout
    chosen: Sequence[Work]
    costs: Mapping[Work, Cost]
    loop: Mapping[Work, Cost]

    def times_faster(self, work: Work) -> float:
        """Return the loop's time divided by this layout's."""
        return self.loop[work].wall_s / self.costs[work].wall_s


def ensembles(
    teachers: int, repeats: int, cases: Sequence[Case], told: Callable[[], object]
) -> Iterator[Measured]:
    """Yield each layout of each case; layouts alternate, so all see the same load.

    `told` is called after every run.
    """
    device = Device(AUTO)
    for case in cases:
        slices = _slices(teachers)
        X = images(QUERIES, np.random.default_rng(1))[0]
        runs: list[dict[Layout, dict[Work, Cost]]] = [{} for _ in range(repeats)]
        for run, layout in product(runs, case.layouts):
            run[layout] = _run(case, slices, X, layout)
            told()
        best = {layout: _shortest([run[layout] for run in runs]) for layout in case.layouts}
        for layout, costs in best.items():
            chosen = [work for work in costs if fastest(case.model, device, work) == layout]
            yield Measured(case.model, layout, chosen, costs, best[LOOP])


def _run(case: Case, slices: Sequence[Slice], X: NDArray[np.float32], layout: Layout) -> dict[Work, Cost]:
    """Train the networks and let them vote."""
    config = TrainingConfig(teachers=len(slices), epochs=case.epochs)
    nets: list[nn.Module] = []
    device = Device(AUTO)

    def training() -> None:
        nets.extend(fit_networks(slices, case.model, CLASSES, config, _silent, layout=layout, device=device))

    spent = _cost(training)
    models = Networks(nets, (SIDE, SIDE), device, layout)
    queries = X.reshape(len(X), -1)
    guard = VoteGuard(CLASSES)
    models.predict(queries, guard)
    return {"training": spent, "prediction": _cost(lambda: models.predict(queries, guard))}


def _cost(work: Callable[[], object]) -> Cost:
    wall = time.perf_counter()
    processor = time.process_time()
    work()
    return Cost(time.perf_counter() - wall, time.process_time() - processor)


def _shortest(runs: Sequence[Mapping[Work, Cost]]) -> dict[Work, Cost]:
    return {
        work: Cost(min(run[work].wall_s for run in runs), min(run[work].processor_s for run in runs))
        for work in runs[0]
    }


def _slices(teachers: int) -> list[Slice]:
    random = np.random.default_rng(0)
    return [Slice(*images(RECORDS, random), (0, teacher)) for teacher in range(teachers)]


def images(count: int, random: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return images (count, SIDE, SIDE), noise around one centre per class, and their classes."""
    centres = np.random.default_rng(99).normal(size=(CLASSES, SIDE, SIDE))
    y = random.integers(0, CLASSES, count)
    return (centres[y] + random.normal(size=(count, SIDE, SIDE))).astype(np.float32), y


def ensembles_table(teachers: int, measured: Sequence[Measured]) -> Table:
    """Return a table with a row for each model and layout."""
    table = Table(
        "model",
        "layout",
        "training s",
        "times the loop",
        "prediction s",
        "times the loop",
        "processor s",
        "used for",
        title=f"{teachers} teachers of {RECORDS} images, {QUERIES} queries, on {Device(AUTO).first.type}",
    )
    for one in measured:
        training = one.costs["training"]
        prediction = one.costs["prediction"]
        table.add_row(
            one.model,
            one.layout,
            f"{training.wall_s:.2f}",
            f"{one.times_faster('training'):.1f}",
            f"{prediction.wall_s:.3f}",
            f"{one.times_faster('prediction'):.1f}",
            f"{training.processor_s:.2f} + {prediction.processor_s:.3f}",
            ", ".join(one.chosen),
        )
    return table


def _silent(done: int, total: int) -> None:
    """Do nothing."""
