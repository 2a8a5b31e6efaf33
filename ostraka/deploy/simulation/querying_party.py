"""One querying party of a simulation: its records, queries to all other sites, student and results."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.learn import learn
from ostraka.client.dependencies.several_runs import PartedResult
from ostraka.client.report.run_report import of_rounds
from ostraka.client.retraining import retrain
from ostraka.client.rounds.learning import learn_in_rounds
from ostraka.client.rounds.rounds_options import BEFORE_INTERACTIVE, Rounds
from ostraka.client.run.combined import is_combined, load_combined
from ostraka.client.run.dependency_rules import write_dependencies
from ostraka.client.run.labelling import LabellingRun, LabelResult, label
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.rounds_state import load_rounds, round_folder
from ostraka.client.session import meter
from ostraka.client.session.answers import label_matrix
from ostraka.client.session.run_state import load_state
from ostraka.client.students import trainers
from ostraka.client.students.dp_sgd.guarantee import DpSgdGuarantee
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import Choice
from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site, write_site
from ostraka.common.datasets import Dataset, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import CertificateAuthority, Identity, Role
from ostraka.common.learning.accuracy import Metrics
from ostraka.common.learning.device import AUTO
from ostraka.common.learning.gain import Gain
from ostraka.common.mechanism import Mechanism
from ostraka.common.mechanism.arguments import make_mechanism, split_mechanism
from ostraka.common.task import Task, write_task
from ostraka.deploy.provisioning.provision import CA_FOLDER
from ostraka.deploy.simulation.defaults import default_parameters
from ostraka.deploy.simulation.federation import QUERY, Federation
from ostraka.deploy.simulation.plan import plan_options
from ostraka.deploy.simulation.quality import RoundQuality
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split

Progress = Callable[[LabelResult], None]
OnStep = Callable[[meter.StepProgress], None]
OnTraining = trainers.Progress

LABEL_THE_POOL = "label the pool"
"""The step over which throughput is measured."""


@dataclass
class Stopwatch:
    """Wall time of steps, in seconds; ``announce`` is called with each before it begins.

    The times of a repeated step are added up.
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
    """A federation whose sites serve, and the callbacks for its progress."""

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
        site: the querying site.
        labelled: number of records that it labelled itself.
        queries: number of queries that it wanted answered; `asked` and `answered` of them were, and its
            student labelled `by_student` of the rest. `implied` labels were not asked because others imply
            them.
        ended_early: whether a limit kept it from asking more.
        released: for every record of its pool the class, int64 (records,), or 1 and 0 for every label
            (records, labels); -1 for no label. `truth` is the right value.
        before: figures of its student of own labels alone; `after` with released labels, and `gain` the
            improvement. `guarantee` is the student's guarantee if it learned by DP-SGD.
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


def load_labels(run: Path, records: int, task: Task) -> NDArray[np.int64]:
    """Return released classes of a pool (records,), or bits (records, labels), -1 for no label."""
    answers = load_combined(run).answers if is_combined(run) else load_state(run).answers()
    labels: list[Any] = [answers.get(row) for row in range(records)]
    if task.multi_label:
        return label_matrix(labels, len(task.classes))
    return np.array([-1 if label is None else label for label in labels], np.int64)


def _require_metrics(figures: Metrics | None) -> Metrics:
    assert figures is not None  # noqa: S101 - there are test records
    return figures


RUN = "run"


def ask(context: SimulationContext) -> QueryOutcome:
    """Label the querying party's pool and retrain its student.

    Raises what labelling and retraining raise, and the reason if no query could be asked.
    """
    site = context.federation.site(QUERY)
    pool, queries = _pool(site, context)
    options = plan_options(context.settings)
    return _ask(context, site, pool, options, queries, context.split.true_classes[: len(queries)])


def _ask(
    context: SimulationContext,
    site: Path,
    pool: Path,
    options: PlanOptions,
    queries: NDArray[np.int64],
    truth: NDArray[np.int64],
    *,
    required: bool = True,
) -> QueryOutcome:
    """Label a site's pool and retrain its student.

    Raises the reason if no query could be asked and one is `required`. `queries` are the indices of the query
    that represents each record of the pool, (records,), and `truth` are the right values.
    """
    labelling = label_pool(context, site, pool, options, first_student(context, site))
    if required and labelling.stopped is not None and labelling.asked == 0:
        raise OstrakaError(ErrorCode(labelling.stopped.code), labelling.stopped.message)
    students = retrain_on(context, site, pool, labelling)
    return QueryOutcome(
        site=load_site(site).site,
        labelled=students.labelled,
        queries=labelling.queries,
        asked=labelling.asked,
        answered=labelling.answered,
        by_student=labelling.by_student,
        implied=labelling.implied if isinstance(labelling, PartedResult) else 0,
        ended_early=labelling.stopped is not None,
        released=load_labels(labelling.run, context.settings.records.queries, context.task)[queries],
        truth=truth,
        before=_require_metrics(students.before),
        after=_require_metrics(students.after),
        gain=students.gain,
        guarantee=students.guarantee,
    )


def label_pool(
    context: SimulationContext, site: Path, pool: Path, options: PlanOptions, student: Path | None = None
) -> LabelResult:
    """Label a pool, with implied labels last if the settings say so."""
    ask: Callable[..., LabelResult] = partial(label, student=student)
    if context.settings.learning.dependencies:
        ask = partial(label_by_dependencies, dependencies=learn_rules(context, site))
    with context.watch.step(LABEL_THE_POOL):
        run = LabellingRun(context.on_progress, context.on_step)
        return ask(site, pool, options, site / RUN, run=run)


def learn_rules(context: SimulationContext, site: Path) -> Path:
    """Learn from own labelled records which labels imply others; return the file of these rules."""
    rules = site / "dependencies.toml"
    with context.watch.step("learn dependencies"):
        write_dependencies(learn(context.task.load(site / "labelled.npz").labels(), context.task), rules)
    return rules


def retrain_on(context: SimulationContext, site: Path, pool: Path, labelling: LabelResult) -> StudentResult:
    """Return a querying site's student before and after its labelling; the same if there were no labels."""
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
            seed=context.settings.records.seed,
            progress=context.on_training,
        )


def choice_of(settings: Settings) -> Choice:
    """Return the student and how it learns."""
    # Other students are not networks, and use no device.
    is_network = settings.learning.learner != "supervised"
    return Choice(
        student=settings.learning.learner,
        device=settings.teaching.device if is_network else AUTO,
        second=settings.learning.second_student,
        steps=settings.learning.steps,
        clusters=settings.records.clusters if settings.learning.clusters_pool else None,
        epsilon=settings.learning.student_epsilon,
        delta=settings.learning.student_delta,
    )


def _pool(site: Path, context: SimulationContext) -> tuple[Path, NDArray[np.int64]]:
    """Return the file of queries and, for every record of the pool, the query that represents it."""
    settings = context.settings
    split = context.split
    if settings.plan.kind != "noise_cluster" or settings.learning.label_dp is not None:
        return site / "pool.npz", np.arange(settings.records.queries)
    with context.watch.step("cluster the pool"):
        rows = representatives(split.pool, context.task, settings.records.clusters, settings.records.seed)
        centres = site / "centres.npz"
        save(split.pool.take(rows), centres)
        return centres, members(split.pool, context.task, rows)


def first_student(context: SimulationContext, site: Path) -> Path | None:
    """Return the student of a querying party's own labels, which Interactive needs; else None."""
    if context.settings.plan.kind != "interactive":
        return None
    with context.watch.step("train the first student"):
        first = site / "first-student.skops"
        seed = context.settings.records.seed
        return retrain(site, site / "labelled.npz", test=site / "test.npz", out=first, seed=seed).path


def representatives(pool: Dataset, task: Task, clusters: int, seed: int) -> NDArray[np.int64]:
    """Return the pool's rows nearest to the centres of k-means, in order and without repeats.

    Records represent centres because every task accepts them: a centre may have values that the task does
    not.
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    centres = KMeans(clusters, n_init=1, random_state=seed).fit(X).cluster_centers_
    return np.unique(pairwise_distances_argmin(centres, X))


def members(pool: Dataset, task: Task, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for every record of the pool which of the representatives at `rows` is nearest, (records,)."""
    from sklearn.metrics import pairwise_distances_argmin

    X = task.prepare(pool.X)
    nearest: NDArray[np.int64] = pairwise_distances_argmin(X, X[rows])
    return nearest


_METRICS = TypeAdapter(Metrics)


def ask_in_rounds(
    context: SimulationContext, site: Path, truth: NDArray[np.int64], options: PlanOptions
) -> tuple[QueryOutcome, tuple[RoundQuality, ...]]:
    """Label half of a site's pool in rounds; return what it learned, and each round's results.

    `truth` are the right values of all records of the pool, and `options` belong to the first round. Raises
    what labelling and retraining raise, and the reason if the first round got nothing.
    """
    settings = context.settings
    rules = learn_rules(context, site) if settings.learning.dependencies else None
    done: dict[int, LabelResult] = {}

    def report(number: int, result: LabelResult) -> None:
        done[number] = result
        asked = sum(one.asked for one in done.values())
        context.on_progress(replace(result, queries=settings.round_queries, asked=asked))

    with context.watch.step(LABEL_THE_POOL):
        result = learn_in_rounds(
            site,
            site / "pool.npz",
            rounds_of(settings, options, rules),
            site / RUN,
            labelled=site / "labelled.npz",
            test=site / "test.npz",
            on_labels=report,
            on_training=context.on_training,
        )
    figures = of_rounds(result.folder, delta=settings.budgets.delta)
    asked = _outcome_of_rounds(context, site, truth, figures, ended_early=result.stopped is not None)
    names = RoundQuality.model_fields
    rounds = ({name: one[name] for name in names} for one in figures["rounds"])
    return asked, tuple(map(RoundQuality.model_validate, rounds))


def rounds_of(settings: Settings, options: PlanOptions, rules: Path | None = None) -> Rounds:
    """Return how a pool is labelled, first by `options`, and with which dependencies."""
    return Rounds(
        count=settings.learning.label_rounds,
        queries=settings.round_queries // settings.learning.label_rounds,
        first=options,
        later=_later(settings),
        student=choice_of(settings),
        seed=settings.records.seed,
        dependencies=rules,
    )


def _later(settings: Settings) -> Mechanism:
    """Return interactive with the same noise if it can follow, else the mechanism of the first round."""
    kind, parameters = split_mechanism(settings.plan.mechanism)
    if kind not in BEFORE_INTERACTIVE or settings.plan.tally == "blind" or settings.plan.noise == "parties":
        return settings.plan_mechanism
    suiting: dict[str, object] = dict(default_parameters("interactive", settings.votes))
    given = {name: parameters[name] for name in ("sigma1", "sigma2") if name in parameters}
    return make_mechanism("interactive", **suiting | given)


def _outcome_of_rounds(
    context: SimulationContext,
    site: Path,
    truth: NDArray[np.int64],
    figures: Mapping[str, Any],
    *,
    ended_early: bool,
) -> QueryOutcome:
    folder = site / RUN
    parts = [np.array(one.rows) for one in load_rounds(folder).rounds]
    released = [
        load_labels(round_folder(folder, number), len(rows), context.task)
        for number, rows in enumerate(parts, 1)
    ]
    rounds = figures["rounds"]
    student = figures["student"]
    return QueryOutcome(
        site=load_site(site).site,
        labelled=student["labelled"],
        queries=context.settings.round_queries,
        asked=sum(one["asked"] for one in rounds),
        answered=sum(one["answered"] for one in rounds),
        by_student=sum(one["by_student"] for one in rounds),
        implied=sum(one["implied"] for one in rounds),
        ended_early=ended_early,
        released=np.concatenate(released),
        truth=truth[np.concatenate(parts)],
        before=_METRICS.validate_python(student["before"]),
        after=_METRICS.validate_python(student["after"]),
        gain=None,
        guarantee=None,
    )


def run_queriers(context: SimulationContext) -> tuple[QueryOutcome, ...]:
    """Return what the least accurate parties learned from all other parties, the least accurate first.

    A party learns nothing new if the others' budgets are used up at its turn. Raises the reason if the first
    party could ask no query, and what labelling and retraining raise.
    """
    sites = {party: _querying_site(context, party, row) for row, party in enumerate(context.settings.sites)}
    seed = context.settings.records.seed
    with context.watch.step("find the weakest parties"):
        weakest = sorted(sites, key=lambda party: _accuracy_alone(sites[party], seed))
    turns = weakest[: context.settings.learning.queriers]
    return tuple(_take_turn(context, sites[party], party, turn) for turn, party in enumerate(turns))


def _querying_site(context: SimulationContext, party: str, row: int) -> Path:
    """Make a querying site next to a party's own, with its own certificate and the party's records."""
    beside = context.federation.site(QUERY)
    folder = beside.with_name(f"{party}-query")
    folder.mkdir(mode=0o700)
    config = load_site(beside).model_copy(update={"site": party, "folder": folder})
    authority = CertificateAuthority.load(beside.with_name(CA_FOLDER))
    authority.issue(Identity(config.federation, party, Role.QUERY), folder, SystemClock())
    write_site(config)
    write_task(context.task, folder / "task.toml")
    save(replace(context.split.shards[row], consent=None), folder / "labelled.npz")
    save(context.split.test, folder / "test.npz")
    return folder


def _accuracy_alone(site: Path, seed: int) -> float:
    """Return a party's accuracy on its own, by cross-validation; 0 with too few records, or classes."""
    try:
        alone = retrain(site, site / "labelled.npz", out=site / "alone.skops", seed=seed).before
    except OstrakaError as error:
        if error.code is not ErrorCode.DATA_TOO_FEW:
            raise
        return 0.0
    return 0.0 if alone is None else alone.balanced_accuracy


def _take_turn(context: SimulationContext, site: Path, party: str, turn: int) -> QueryOutcome:
    queries = np.arange(context.settings.records.queries)
    rows = queries + turn * len(queries)
    truth = context.split.true_classes[rows]
    pool = site / "pool.npz"
    save(context.split.pool.take(rows), pool)
    others = tuple(name for name in context.settings.sites if name != party)
    options = plan_options(context.settings).model_copy(update={"parties": others})
    if context.settings.learning.label_rounds > 1:
        outcome, _ = ask_in_rounds(context, site, truth, options)
        return outcome
    return _ask(context, site, pool, options, queries, truth, required=turn == 0)
