"""One simulation from its settings to its report."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from client import meter
from client.labelling import LabelResult, label
from client.retraining import retrain
from common.datasets import save
from common.errors import ErrorCode, OstrakaError
from common.mechanism import LABELLING
from common.task import Task
from deploy.simulation.clusters import members, representatives
from deploy.simulation.federation import CORES, GUARDIAN, QUERY, Federation
from deploy.simulation.html import render
from deploy.simulation.outcome import LABEL_THE_POOL, Outcome, report_on
from deploy.simulation.plan import check_plan, plan_options
from deploy.simulation.processes import Supervisor, exit_on_signals
from deploy.simulation.report import Report
from deploy.simulation.settings import Settings
from deploy.simulation.split import Split, split_data
from deploy.simulation.together import Together
from guardian.admin.confidential import totals

RUN = "run"
JSON_FILE, HTML_FILE = "report.json", "report.html"

Progress = Callable[[LabelResult], None]
StepProgress = Callable[[meter.Progress], None]


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


def simulate(
    settings: Settings,
    folder: Path,
    *,
    announce: Callable[[str], AbstractContextManager[object]],
    on_progress: Progress = lambda _: None,
    on_step: StepProgress = lambda _: None,
) -> Report:
    """Run a whole federation in ``folder`` and leave report.json and report.html there.

    Every process that was started has stopped when this returns or raises, also by a stop signal. Raises
    ``config.invalid`` for a folder in use or a task that the data are not, ``process.failed`` naming the site
    and its log, ``plan.invalid`` for choices that exclude each other, and whatever splitting, labelling and
    retraining raise.
    """
    watch = Stopwatch(announce)
    _claim(folder)
    with watch.step("split the data"):
        split = split_data(settings)
        _check_task(settings, split)
    threads = {"OMP_NUM_THREADS": str(max(1, CORES // settings.parties))}
    with exit_on_signals(), Supervisor(folder / "logs", threads) as processes:
        federation = Federation(folder, settings, processes)
        task, training = _prepare(federation, settings, split, watch)
        outcome = _ask(federation, settings, split, task, training, watch, on_progress, on_step)
        with watch.step("stop the sites"):
            processes.stop()
    report = report_on(folder.name, settings, split, task, outcome, watch.seconds)
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


def _prepare(
    federation: Federation, settings: Settings, split: Split, watch: Stopwatch
) -> tuple[Task, Together | None]:
    """The task, and how teachers learned together if they did; afterwards all sites serve."""
    with watch.step("provision the sites"):
        federation.provision()
        task = federation.place(split)
        check_plan(settings, len(split.pool), task)
    if settings.together:
        with watch.step("start the guardian"):
            federation.serve_guardian()
        with watch.step("train the teachers together"):
            training = federation.learn_together()
        with watch.step("start the parties"):
            federation.serve_parties()
        return task, training
    with watch.step("train the teachers"):
        federation.train()
    with watch.step("start the sites"):
        federation.serve()
        federation.set_budgets()
    return task, None


def _check_task(settings: Settings, split: Split) -> None:
    several = split.truth.ndim == 2
    found = "multilabel" if several else "single"
    if settings.task not in (None, found):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting task: {settings.task} was asked, and the records of {settings.data} are {found}; "
            "correct it or bring other data.",
        )
    if LABELLING[settings.mechanism].multi_label != several:
        fitting = [kind for kind, known in LABELLING.items() if known.multi_label == several]
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting mechanism: {settings.mechanism} does not answer {found} tasks; "
            f"choose one of {', '.join(fitting)}.",
        )


def _ask(
    federation: Federation,
    settings: Settings,
    split: Split,
    task: Task,
    training: Together | None,
    watch: Stopwatch,
    on_progress: Progress,
    on_step: StepProgress,
) -> Outcome:
    site = federation.site(QUERY)
    pool, asked = _pool(site, settings, split, task, watch)
    student = _first_student(site, settings, watch)
    options = plan_options(settings)
    started = time.time()
    with watch.step(LABEL_THE_POOL):
        labelling = label(
            site,
            pool,
            options,
            site / RUN,
            student=student,
            on_progress=on_progress,
            on_step=on_step,
        )
    if labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)
    with watch.step("retrain the student"):
        retraining = retrain(
            site, site / "labelled.npz", site / RUN, pool, test=site / "test.npz", seed=settings.seed
        )
    units = totals(federation.site(GUARDIAN))
    return Outcome(started, asked, training, labelling, retraining, units)


def _pool(
    site: Path, settings: Settings, split: Split, task: Task, watch: Stopwatch
) -> tuple[Path, NDArray[np.int64]]:
    """The file of queries, and for every record of the pool the query that stands for it."""
    if settings.mechanism != "noise_cluster":
        return site / "pool.npz", np.arange(len(split.pool))
    with watch.step("cluster the pool"):
        rows = representatives(split.pool, task, settings.clusters, settings.seed)
        centres = site / "centres.npz"
        save(split.pool.take(rows), centres)
        return centres, members(split.pool, task, rows)


def _first_student(site: Path, settings: Settings, watch: Stopwatch) -> Path | None:
    """The student of the querying party's own labels, with which Interactive asks."""
    if settings.mechanism != "interactive":
        return None
    with watch.step("train the first student"):
        first = site / "first-student.skops"
        return retrain(
            site, site / "labelled.npz", test=site / "test.npz", out=first, seed=settings.seed
        ).path
