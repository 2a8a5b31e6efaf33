"""Inputs of a simulation's querying parties."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field

from ostraka.client.run.labelling import LabelResult
from ostraka.client.session import meter
from ostraka.client.students import trainers
from ostraka.common.task import Task
from ostraka.deploy.simulation.federation import Federation
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split

Progress = Callable[[LabelResult], None]
OnStep = Callable[[meter.StepProgress], None]
OnTraining = trainers.Progress

LABEL_THE_POOL = "label the pool"
"""The step that throughput is measured over."""


@dataclass
class Stopwatch:
    """Wall time of steps, in seconds; ``announce`` is told of each before it begins.

    A step that is done several times counts with all its times together.
    """

    announce: Callable[[str], AbstractContextManager[object]]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a block as the step ``name``."""
        start = time.perf_counter()
        with self.announce(name):
            yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True)
class SimulationContext:
    """A federation whose sites serve, and who is told how far its labelling has come."""

    federation: Federation
    settings: Settings
    split: Split
    task: Task
    watch: Stopwatch
    on_progress: Progress
    on_step: OnStep
    on_training: OnTraining
