"""Duration of training an ensemble, and the accuracy of its votes."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.published import DATA
from ostraka.common.datasets import load_splits
from ostraka.common.task import Task, infer_task
from ostraka.common.telemetry import progress
from ostraka.services.teachers import TrainingConfig, accuracy, train


@dataclass(frozen=True)
class Trained:
    """An ensemble's figures.

    Attributes:
        teachers: number of teachers.
        records: number of records that they share.
        seconds: from the records to an ensemble on disk, like `ostraka party train`.
        processor: processor time of the same in seconds, summed over all cores.
        plurality: share of the test records whose plurality of votes is right.
        single: the same for one teacher, on average.
    """

    teachers: int
    records: int
    seconds: float
    processor: float
    plurality: float
    single: float

    @property
    def sentence(self) -> str:
        """The figures as a sentence."""
        return (
            f"{self.teachers} teachers on {self.records:,} records: {self.seconds:.0f} s "
            f"({self.processor:.0f} s of processor time), "
            f"plurality accuracy {self.plurality:.4f}, one teacher's {self.single:.4f} on average"
        )


def measure(file: str, config: TrainingConfig, seed: int, projection: int | None = None) -> Trained | None:
    """Train on a file of ../shared/data beside the checkout; return None if it is missing.

    The task has the projection, if there is one. Progress is shown on stderr.
    """
    if not (DATA / file).exists():
        return None
    private, test = load_splits(DATA / file)
    task = Task.model_validate(infer_task(private, file).model_dump() | {"projection": projection})
    with tempfile.TemporaryDirectory() as folder, progress() as bar:
        step = bar.add_task(f"Training {config.teachers} teachers", total=None)
        start = time.perf_counter()
        used = time.process_time()
        ensemble = train(
            private,
            task,
            config,
            seed=seed,
            progress=lambda done, total: bar.update(step, completed=done, total=total),
            unfinished=Path(folder, "unfinished"),
        )
        ensemble.save(Path(folder, "teachers"))
        seconds = time.perf_counter() - start
        processor = time.process_time() - used
        votes = ensemble.predict(task.prepare(test.X))
    y = test.labels()
    single = float(np.mean(votes == y))
    return Trained(
        config.teachers, len(private), seconds, processor, accuracy(votes, y, len(task.classes)), single
    )
