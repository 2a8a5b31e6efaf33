"""One querying party: what it is given, how it asks all others, its student, and what came of it."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.learn import learn
from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.retraining import retrain
from ostraka.client.run.combined import combined_answers, is_combined
from ostraka.client.run.dependency_rules import write_dependencies
from ostraka.client.run.labelling import LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.session import meter
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import load_state
from ostraka.client.students import trainers
from ostraka.client.students.accuracy import Metrics
from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.students.gain import Gain
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import Choice
from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task
from ostraka.deploy.simulation.federation import QUERY, Federation
from ostraka.deploy.simulation.plan import plan_options
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


@dataclass(frozen=True)
class QueryOutcome:
    """A querying party's labels, and its student on test records.

    Attributes:
        site: who asked.
        labelled: records it has labels of by itself.
        queries: how many it wanted answered; `asked` and `answered` how many were, `by_student` how many of
            the others its student labelled. `implied` labels were not asked because others imply them.
        ended_early: whether a limit kept it from asking more.
        released: of every record of its pool the class, int64 (records,), or 1 and 0 for every label
            (records, labels); -1 where there is none. `truth` is what would have been right.
        before: figures of its student of own labels alone; `after` with those that it was told, and `gain`
            how much better that is. `guarantee` is what this promises where it learned by DP-SGD.
    """

    site: str
    labelled: int
    queries: int
    asked: int
    answered: int
    by_student: int
    implied: int
    ended_early: bool
    released: NDArray[np.int64] = field(repr=False)
    truth: NDArray[np.int64] = field(repr=False)
    before: Metrics
    after: Metrics
    gain: Gain | None
    guarantee: DpSgdGuarantee | None


def outcome_of(
    site: str,
    labelling: LabelResult,
    students: StudentResult,
    released: NDArray[np.int64],
    truth: NDArray[np.int64],
) -> QueryOutcome:
    """Return the results of a run and of a retraining on it."""
    return QueryOutcome(
        site=site,
        labelled=students.labelled,
        queries=labelling.queries,
        asked=labelling.asked,
        answered=labelling.answered,
        by_student=labelling.by_student,
        implied=labelling.implied if isinstance(labelling, PartedResult) else 0,
        ended_early=labelling.stopped is not None,
        released=released,
        truth=truth,
        before=_measured(students.before),
        after=_measured(students.after),
        gain=students.gain,
        guarantee=students.guarantee,
    )


def released_labels(run: Path, records: int, task: Task) -> NDArray[np.int64]:
    """Released classes of a pool (records,), or bits (records, labels), -1 where there is none."""
    answers = combined_answers(run).answers if is_combined(run) else load_state(run).answers()
    labels: list[Any] = [answers.get(row) for row in range(records)]
    if task.multi_label:
        return label_matrix(labels, len(task.classes))
    return np.array([-1 if label is None else label for label in labels], np.int64)


def require_answers(labelling: LabelResult) -> None:
    """Raise why a run was stopped if it was before its first query."""
    if labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)


def _measured(figures: Metrics | None) -> Metrics:
    assert figures is not None  # noqa: S101 - there are test records
    return figures


RUN = "run"


def ask(context: SimulationContext) -> QueryOutcome:
    """Label the querying party's pool and retrain its student.

    Raises what labelling and retraining raise, and why no query could be asked.
    """
    site = context.federation.site(QUERY)
    pool, asked = _pool(site, context)
    labelling = label_pool(context, site, pool, plan_options(context.settings), first_student(context, site))
    require_answers(labelling)
    students = retrain_on(context, site, pool, labelling)
    released = released_labels(labelling.run, context.settings.queries, context.task)[asked]
    return outcome_of(QUERY, labelling, students, released, context.split.truth[: len(asked)])


def label_pool(
    context: SimulationContext, site: Path, pool: Path, options: PlanOptions, student: Path | None = None
) -> LabelResult:
    """Ask about a pool, about implied labels last where the settings say so."""
    if context.settings.dependencies:
        return _label_by_dependencies(context, site, pool, options)
    with context.watch.step(LABEL_THE_POOL):
        return label(
            site,
            pool,
            options,
            site / RUN,
            student=student,
            on_progress=context.on_progress,
            on_step=context.on_step,
        )


def _label_by_dependencies(
    context: SimulationContext, site: Path, pool: Path, options: PlanOptions
) -> LabelResult:
    """Leave out labels that others imply."""
    rules = learn_rules(context, site)
    with context.watch.step(LABEL_THE_POOL):
        return label_by_dependencies(
            site,
            pool,
            options,
            site / RUN,
            dependencies=rules,
            on_progress=context.on_progress,
            on_step=context.on_step,
        )


def learn_rules(context: SimulationContext, site: Path) -> Path:
    """Learn on own labelled records which labels imply others; return the file of these rules."""
    rules = site / "dependencies.toml"
    with context.watch.step("learn dependencies"):
        write_dependencies(learn(context.task.load(site / "labelled.npz").labels(), context.task), rules)
    return rules


def retrain_on(context: SimulationContext, site: Path, pool: Path, labelling: LabelResult) -> StudentResult:
    """Return a querying site's student before and after its labelling; the same if that gave no label."""
    told = labelling.answered + labelling.by_student > 0
    with context.watch.step("retrain the student"):
        return retrain(
            site,
            site / "labelled.npz",
            labelling.run if told else None,
            pool if told else None,
            test=site / "test.npz",
            out=None if told else site / "student.skops",
            choice=choice_of(context.settings),
            seed=context.settings.seed,
            progress=context.on_training,
        )


def choice_of(settings: Settings) -> Choice:
    """Who learns, and how."""
    denoising = settings.learner == "denoise-ssl"
    return Choice(
        student=settings.learner,
        steps=settings.steps,
        clusters=settings.clusters if denoising else None,
        epsilon=settings.student_epsilon,
        delta=settings.student_delta,
    )


def _pool(site: Path, context: SimulationContext) -> tuple[Path, NDArray[np.int64]]:
    """Return the file of queries and, for every record of the pool, the query that represents it."""
    settings, split = context.settings, context.split
    if settings.mechanism_kind != "noise_cluster" or settings.label_dp is not None:
        return site / "pool.npz", np.arange(settings.queries)
    with context.watch.step("cluster the pool"):
        rows = representatives(split.pool, context.task, settings.clusters, settings.seed)
        centres = site / "centres.npz"
        save(split.pool.take(rows), centres)
        return centres, members(split.pool, context.task, rows)


def first_student(context: SimulationContext, site: Path) -> Path | None:
    """Return the student of a querying party's own labels, with which Interactive asks; else None."""
    if context.settings.mechanism_kind != "interactive":
        return None
    with context.watch.step("train the first student"):
        first = site / "first-student.skops"
        seed = context.settings.seed
        return retrain(site, site / "labelled.npz", test=site / "test.npz", out=first, seed=seed).path


def representatives(pool: Dataset, task: Task, clusters: int, seed: int) -> NDArray[np.int64]:
    """Rows of the pool's records nearest to the centres that k-means finds, in order and without repeats.

    Records stand for centres because every task takes them: a centre may have values that the task does not.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    centres = KMeans(clusters, n_init=1, random_state=seed).fit(X).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres, X))


def members(pool: Dataset, task: Task, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """For every record of the pool which of the representatives at `rows` is nearest, (records,)."""
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    nearest: NDArray[np.int64] = pairwise_distances_argmin(X, X[rows])
    return nearest
