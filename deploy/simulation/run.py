"""One simulation from its settings to its report."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client.labelling import LabelResult, label
from client.options import PlanOptions
from client.retraining import StudentResult, retrain
from client.state import load_state
from client.students.metrics import Metrics
from common.errors import ErrorCode, OstrakaError
from common.mechanism import Confident
from common.task import Task
from deploy.simulation.federation import CORES, GUARDIAN, QUERY, Federation
from deploy.simulation.html import render
from deploy.simulation.processes import Supervisor, exit_on_signals
from deploy.simulation.report import (
    Charge,
    Report,
    Throughput,
    Unit,
    count_classes,
    label_accuracy,
    notions,
)
from deploy.simulation.settings import Settings
from deploy.simulation.split import Split, split_data
from guardian.admin.confidential import UnitReport, totals

RUN = "run"
JSON_FILE, HTML_FILE = "report.json", "report.html"

Progress = Callable[[LabelResult], None]


@dataclass
class Stopwatch:
    """Wall time of steps, in seconds; ``announce`` is told of each before it begins."""

    announce: Callable[[str], AbstractContextManager[object]]
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a block as the step ``name``."""
        start = time.perf_counter()
        with self.announce(name):
            yield
        self.seconds[name] = time.perf_counter() - start


@dataclass(frozen=True)
class Outcome:
    """What the processes of a simulation left to report on."""

    started_unix_s: float
    labelling: LabelResult
    retraining: StudentResult
    units: Sequence[UnitReport]


def simulate(
    settings: Settings,
    folder: Path,
    *,
    announce: Callable[[str], AbstractContextManager[object]],
    on_progress: Progress = lambda _: None,
) -> Report:
    """Run a whole federation in ``folder`` and leave report.json and report.html there.

    Every process that was started has stopped when this returns or raises, also by a stop signal. Raises
    ``config.invalid`` for a folder in use, ``process.failed`` naming the site and its log, and whatever
    splitting, labelling and retraining raise.
    """
    watch = Stopwatch(announce)
    _claim(folder)
    with watch.step("split the data"):
        split = split_data(settings)
    threads = {"OMP_NUM_THREADS": str(max(1, CORES // settings.parties))}
    with exit_on_signals(), Supervisor(folder / "logs", threads) as processes:
        federation = Federation(folder, settings, processes)
        task = _prepare(federation, split, watch)
        outcome = _ask(federation, settings, watch, on_progress)
        with watch.step("stop the sites"):
            processes.stop()
    report = _report(folder.name, settings, split, task, outcome, watch.seconds)
    (folder / JSON_FILE).write_text(report.model_dump_json(indent=2) + "\n")
    (folder / HTML_FILE).write_text(render(report))
    return report


def _claim(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not any(folder.iterdir()):
            return
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID, f"Cannot write into {folder}: {error.strerror}; name another --out."
        ) from error
    raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{folder} is not empty; name another --out.")


def _prepare(federation: Federation, split: Split, watch: Stopwatch) -> Task:
    with watch.step("provision the sites"):
        federation.provision()
        task = federation.place(split)
    with watch.step("train the teachers"):
        federation.train()
    with watch.step("start the sites"):
        federation.serve()
        federation.set_budgets()
    return task


def _ask(federation: Federation, settings: Settings, watch: Stopwatch, on_progress: Progress) -> Outcome:
    site = federation.site(QUERY)
    options = PlanOptions(
        mechanism=settings.plan_mechanism, quorum=settings.least_parties, batch_size=settings.batch_size
    )
    started = time.time()
    with watch.step("label the pool"):
        labelling = label(site, site / "pool.npz", options, site / RUN, on_progress=on_progress)
    if labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)
    with watch.step("retrain the student"):
        retraining = retrain(
            site,
            site / "labelled.npz",
            site / RUN,
            site / "pool.npz",
            test=site / "test.npz",
            seed=settings.seed,
        )
    return Outcome(started, labelling, retraining, totals(federation.site(GUARDIAN)))


def _report(
    name: str, settings: Settings, split: Split, task: Task, outcome: Outcome, seconds: dict[str, float]
) -> Report:
    labels = _labels(outcome.labelling.run, settings.queries)
    counts = count_classes(task.classes, split.truth, labels)
    mechanism = settings.plan_mechanism
    asked, answered = outcome.labelling.asked, outcome.labelling.answered
    rate = 1 / seconds["label the pool"]
    return Report(
        id=name,
        version=version("ostraka"),
        settings=settings,
        enforce=settings.enforce,
        bound=settings.bound,
        notions=notions(settings.bound),
        teachers=settings.votes,
        threshold=mechanism.threshold if isinstance(mechanism, Confident) else None,
        queries=settings.queries,
        asked=asked,
        answered=answered,
        ended_early=outcome.labelling.stopped is not None,
        label_accuracy=label_accuracy(counts),
        student_accuracy_before=_accuracy(outcome.retraining.before),
        student_accuracy_after=_accuracy(outcome.retraining.after),
        classes=counts,
        units=tuple(_unit(unit, settings, outcome.started_unix_s) for unit in outcome.units),
        seconds={step: round(value, 3) for step, value in seconds.items()},
        throughput=Throughput(
            queries_per_second=asked * rate,
            answers_per_second=answered * rate,
            votes_per_second=asked * settings.votes * rate,
        ),
    )


def _accuracy(metrics: Metrics | None) -> float:
    assert metrics is not None  # noqa: S101 - there are test records
    return metrics.accuracy


def _labels(run: Path, queries: int) -> NDArray[np.int64]:
    """Released class indices by query, shape (queries,), -1 where there is none."""
    labels = np.full(queries, -1, np.int64)
    for query, answer in load_state(run).answers().items():
        labels[query] = -1 if answer is None else answer
    return labels


def _unit(unit: UnitReport, settings: Settings, started_unix_s: float) -> Unit:
    history = tuple(
        Charge(
            batch=charge["batch"],
            seconds=charge["released_unix_ms"] / 1000 - started_unix_s,
            epsilon_worst_case=charge["epsilon_worst_case"],
            epsilon_data_dependent=charge["epsilon_data_dependent"],
        )
        for charge in unit["history"]
    )
    return Unit.model_validate({**unit, "bound": settings.bound, "history": history})
