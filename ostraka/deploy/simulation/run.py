"""One simulation from its settings to its report; refused first if its budgets allow no query."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.session.meter import StepProgress
from ostraka.client.training.leading import TrainingReport
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.imports import without_collection
from ostraka.common.learning.accuracy import Metrics
from ostraka.common.mechanism import labelling
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Task
from ostraka.deploy.simulation.affordable import check_affordable, tell_affordable
from ostraka.deploy.simulation.federation import CORES, GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.html import render
from ostraka.deploy.simulation.models import (
    constant_metrics,
    draw_model,
    learn_from_sums,
    measure_number_models,
    measure_pooled,
    outcome_of_sums,
)
from ostraka.deploy.simulation.number_quality import (
    NumberQuality,
    count_numbers,
    name_ranges,
    number_ranges,
)
from ostraka.deploy.simulation.plan import plan_of, plan_options
from ostraka.deploy.simulation.processes import Start, Supervisor, forking
from ostraka.deploy.simulation.quality import (
    ClassCount,
    Holding,
    LabelCount,
    Quality,
    QuerierQuality,
    RoundQuality,
    SumModel,
    balanced_accuracy,
    count_classes,
    count_holdings,
    count_labels,
    ensemble_metrics,
    label_accuracy,
    mean_metrics,
    sample_tested,
)
from ostraka.deploy.simulation.querying_party import (
    LABEL_THE_POOL,
    OnStep,
    OnTraining,
    Progress,
    QueryOutcome,
    SimulationContext,
    Stopwatch,
    ask,
    ask_in_rounds,
    choice_of,
    run_queriers,
)
from ostraka.deploy.simulation.report import (
    Guarantee,
    RecordSplit,
    SimulationReport,
    SpendingPoint,
    Throughput,
    UnitSpending,
    notions,
    promise_words,
)
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split, split_data
from ostraka.guardian.admin.confidential import UnitReport, totals

TRAIN = "train the teachers"
PREPARE = "prepare the parties' records"
POOL_RECORDS = "learn from all records without privacy"
COUNTED = ("queries", "asked", "answered", "by_student", "implied")
"""Figures that are added up over all querying parties."""
LATER = ("sklearn.linear_model", "ostraka.client.students.files", "ostraka.common.estimators.skops_files")
"""Imports for students and for asking teachers without privacy: 2 s, done while this process waits for
training.
"""
JSON_FILE = "report.json"
HTML_FILE = "report.html"


@dataclass(frozen=True)
class SimulationOutcome:
    """The results of a simulation's processes.

    Attributes:
        started_unix_s: when labelling began.
        training: how teachers learned together; None if each learned alone.
        asked: each querying party's results, in the order in which they asked; empty for numbers.
        rounds: each round's results; empty if all was asked at once.
        units: the charges of every party.
        plan: of the votes, or of the sums.
        quality: figures on test records.
    """

    started_unix_s: float
    training: TrainingReport | None
    asked: Sequence[QueryOutcome]
    rounds: Sequence[RoundQuality]
    units: Sequence[UnitReport]
    plan: Plan
    quality: Quality | NumberQuality


def simulate(
    settings: Settings,
    folder: Path,
    *,
    announce: Callable[[str], AbstractContextManager[object]],
    on_progress: Progress = lambda _: None,
    on_step: OnStep = lambda _: None,
    on_training: OnTraining = lambda name, done, total: None,
    start: Start | None = None,
) -> SimulationReport:
    """Run a whole federation in ``folder`` and leave report.json and report.html there.

    Processes are started by ``start``, else by fork. All of them have stopped when this returns or raises.
    Raises ``config.invalid`` for a folder in use or a task that does not fit the data, ``budget.too_small``
    before any training if budgets allow no query, ``process.failed`` naming the site and its log,
    ``plan.invalid`` for choices that exclude each other, and whatever splitting, labelling and retraining
    raise.
    """
    watch = Stopwatch(announce)
    _claim(folder)
    with watch.step("split the data"):
        split = split_data(settings)
        _check_task(settings, split)
        settings = settings.for_pool(len(split.pool))
        settings = settings.of_numbers() if split.kind == "number" else settings
        classes = _count_classes(split)
        settings = settings.for_labels(classes) if split.kind == "multilabel" else settings
        check_affordable(settings, classes)
        split = replace(split, notes=(*split.notes, *tell_affordable(settings, classes)))
    threads = {"OMP_NUM_THREADS": str(max(1, CORES // settings.records.parties))}
    with (
        nullcontext(start) if start is not None else forking() as starting,
        Supervisor(folder / "logs", threads, start=starting) as processes,
    ):
        federation = Federation(folder, settings, processes)
        task, training = _prepare(federation, settings, split, watch, on_step)
        outcome = _ask(
            SimulationContext(federation, settings, split, task, watch, on_progress, on_step, on_training),
            training,
        )
        with watch.step("stop the sites"):
            processes.stop()
    report = report_on(folder.name, settings, split, task, outcome, watch.seconds)
    (folder / JSON_FILE).write_text(report.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / HTML_FILE).write_text(render(report), encoding="utf-8")
    return report


def _count_classes(split: Split) -> int:
    """Return how many classes or labels a record may have, 1 for a number."""
    match split.kind:
        case "number":
            return 1
        case "multilabel":
            return int(split.truth.shape[1])
        case "single":
            return len(np.unique(split.truth))


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
    federation: Federation, settings: Settings, split: Split, watch: Stopwatch, on_step: OnStep
) -> tuple[Task, TrainingReport | None]:
    """Start all sites; return the task, and how teachers learned together if they did."""
    with watch.step("provision the sites"):
        federation.provision()
        task = federation.place(split)
        if not settings.learning.sums:
            plan_of(settings, len(split.pool), task)  # refuses contradictions before any training
    if settings.teaching.joint:
        with watch.step("start the guardian"):
            federation.serve_guardian()
        with watch.step("train the teachers together"):
            training = federation.train_jointly()
        with watch.step("start the parties"):
            federation.serve_parties()
        return task, training
    step = TRAIN if settings.teachers else PREPARE
    with watch.step(step), beside(partial(_get_ready, federation)):
        on_step(StepProgress(step, 0, settings.records.parties))
        federation.train(lambda done: on_step(StepProgress(step, done, settings.records.parties)))
    with watch.step("start the sites"):
        federation.serve()
        federation.set_budgets()
    return task, None


@contextmanager
def beside(work: Callable[[], object]) -> Iterator[None]:
    """Run `work` in a thread during the block and wait for it at the end; raise its error."""
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work)
        yield
        done.result()


def _get_ready(federation: Federation) -> None:
    """Do everything that needs no teachers, while they train."""
    with without_collection():
        for name in LATER:
            import_module(name)
    federation.start_guardian()


def _check_task(settings: Settings, split: Split) -> None:
    found = split.kind
    several = found == "multilabel"
    if settings.records.task not in (None, found):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting task: {settings.records.task} was asked, and the records of {settings.records.data} "
            f"are {found}; correct it or bring other data.",
        )
    if found == "number":
        _require_sums(settings)
        return
    if settings.learning.dependencies and not several:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Setting dependencies: they are between several labels of a record, and these records have one "
            "each; leave it out.",
        )
    if settings.plan_mechanism.multi_label != several:
        fitting = [kind for kind, known in labelling().items() if known.multi_label == several]
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting mechanism: {settings.plan.kind} does not answer {found} tasks; "
            f"choose one of {', '.join(fitting)}.",
        )


def _require_sums(settings: Settings) -> None:
    if not settings.learning.sums:
        raise OstrakaError(
            ErrorCode.TASK_NUMERIC,
            f"The records of {settings.records.data} have a number each, and votes are for classes: simulate"
            " with --learn auto, which learns numbers from sums, or name a column of classes as --label.",
        )


def _ask(context: SimulationContext, training: TrainingReport | None) -> SimulationOutcome:
    started = time.time()
    settings = context.settings
    rounds: Sequence[RoundQuality] = ()
    asked: Sequence[QueryOutcome] = ()
    quality: Quality | NumberQuality
    if settings.learning.sums:
        learned = learn_from_sums(context)
        plan = learned.plan
        if context.split.kind == "number":
            with context.watch.step(POOL_RECORDS):
                quality = measure_number_models(context.split, context.task, learned)
        else:
            asked = (outcome_of_sums(context, learned.result),)
            with context.watch.step(POOL_RECORDS):
                pooled = measure_pooled(context.split, context.task)
            quality = _quality(context, asked, learned.model, pooled)
    else:
        asked, rounds = _ask_queriers(context)
        plan = plan_of(settings, settings.records.queries, context.task)
        with context.watch.step("draw sums of the same budget"):
            model = draw_model(settings, context.split, context.task)
        quality = _quality(context, asked, model, None)
    with context.watch.step("compute what the votes cost"):
        context.federation.end_guardian()
    units = totals(context.federation.site(GUARDIAN))
    return SimulationOutcome(started, training, asked, rounds, units, plan, quality)


def _quality(
    context: SimulationContext,
    asked: Sequence[QueryOutcome],
    model: SumModel | None,
    pooled: Metrics | None,
) -> Quality:
    """Return the quality of the student or model, and of all teachers together, whom nobody else may ask."""
    with context.watch.step("ask the teachers without privacy"):
        sites = [context.federation.site(name) for name in context.settings.sites]
        tested = sample_tested(context.split.test, context.settings.records.seed)
        ensemble = ensemble_metrics(sites, context.task, tested)
    return Quality(
        own=mean_metrics([one.before for one in asked]),
        after=mean_metrics([one.after for one in asked]),
        ensemble=ensemble,
        ensemble_records=len(tested),
        pooled=pooled,
        model=model,
        constant=constant_metrics(context.split, context.task),
    )


def _ask_queriers(context: SimulationContext) -> tuple[tuple[QueryOutcome, ...], tuple[RoundQuality, ...]]:
    if context.settings.learning.queriers is not None:
        return run_queriers(context), ()
    if context.settings.learning.label_rounds > 1:
        site = context.federation.site(QUERY)
        options = plan_options(context.settings)
        one, rounds = ask_in_rounds(context, site, context.split.true_classes, options)
        return (one,), rounds
    return (ask(context),), ()


def report_on(
    name: str,
    settings: Settings,
    split: Split,
    task: Task,
    outcome: SimulationOutcome,
    seconds: dict[str, float],
) -> SimulationReport:
    """Return the report of a simulation of records that were divided as ``split``."""
    asked = outcome.asked
    classes, labels = _count_answers(split, task, asked)
    guarantee: Guarantee = "none" if settings.teaching.training == "ttac" else settings.plan.adjacency
    quality = outcome.quality
    before, after = (quality.own, quality.after) if isinstance(quality, Quality) else (None, None)
    promised = [one.guarantee for one in asked if one.guarantee is not None]
    return SimulationReport(
        id=name,
        version=version("ostraka"),
        settings=settings,
        task=split.kind,
        mechanism=outcome.plan.mechanism,
        guarantee=guarantee,
        enforce=settings.budgets.enforce,
        bound=settings.charged_bound,
        notions=notions(settings.charged_bound, guarantee),
        encoding=settings.plan.encoding,
        tally=settings.plan.tally,
        ballots=outcome.plan.ballots,
        head=settings.teachers_head,
        teachers=settings.records.parties * settings.teachers,
        **{name: sum(getattr(one, name) for one in asked) for name in COUNTED},
        ended_early=any(one.ended_early for one in asked),
        label_accuracy=label_accuracy([*classes, *labels]),
        label_balanced_accuracy=balanced_accuracy(classes, labels),
        student=choice_of(settings).name,
        **_accuracies("before", before),
        **_accuracies("after", after),
        notes=split.notes,
        records=RecordSplit(
            labelled=len(split.labelled),
            pool=0 if settings.learning.label_dp is not None else len(split.pool),
            test=len(split.test),
            parties=sum(map(len, split.shards)),
        ),
        gain=asked[0].gain if len(asked) == 1 else None,
        student_guarantee=max(promised, key=lambda one: one.epsilon) if promised else None,
        quality=quality,
        turns=tuple(map(_turn, asked)) if settings.learning.queriers else (),
        rounds=tuple(outcome.rounds),
        training=outcome.training,
        holdings=_holdings(settings, split, task),
        classes=classes,
        labels=labels,
        units=tuple(_unit(unit, settings, guarantee, outcome.started_unix_s) for unit in outcome.units),
        seconds={step: round(value, 3) for step, value in seconds.items()},
        throughput=_throughput(asked, settings, seconds),
    )


def _count_answers(
    split: Split, task: Task, asked: Sequence[QueryOutcome]
) -> tuple[tuple[ClassCount, ...], tuple[LabelCount, ...]]:
    """Return counts by class, or by label; for a number its ranges, which are not queries."""
    if split.kind == "number":
        return name_ranges(number_ranges(_all_numbers(split))), ()
    truth = np.concatenate([one.truth for one in asked])
    released = np.concatenate([one.released for one in asked])
    if task.multi_label:
        return (), count_labels(task.classes, truth, released)
    return count_classes(task.classes, truth, released), ()


def _all_numbers(split: Split) -> NDArray[np.float64]:
    return np.concatenate([shard.numbers() for shard in split.shards])


def _holdings(settings: Settings, split: Split, task: Task) -> tuple[Holding, ...]:
    if split.kind == "number":
        return count_numbers(settings.sites, split.shards, number_ranges(_all_numbers(split)))
    return count_holdings(settings.sites, split.shards, len(task.classes))


def _accuracies(when: str, student: Metrics | None) -> dict[str, Any]:
    return {
        f"student_accuracy_{when}": None if student is None else student.accuracy,
        f"student_balanced_accuracy_{when}": None if student is None else student.balanced_accuracy,
    }


def _turn(asked: QueryOutcome) -> QuerierQuality:
    names = QuerierQuality.model_fields.keys() - {"party"}
    return QuerierQuality(party=asked.site, **{name: getattr(asked, name) for name in names})


def _throughput(asked: Sequence[QueryOutcome], settings: Settings, seconds: dict[str, float]) -> Throughput:
    labelling = seconds.get(LABEL_THE_POOL)
    rate = 1 / labelling if labelling else 0.0
    queries = sum(one.asked for one in asked)
    return Throughput(
        queries_per_second=queries * rate,
        answers_per_second=sum(one.answered for one in asked) * rate,
        votes_per_second=queries * settings.votes * rate,
    )


def _unit(unit: UnitReport, settings: Settings, guarantee: Guarantee, started_unix_s: float) -> UnitSpending:
    history = tuple(
        SpendingPoint(
            batch=charge["batch"],
            seconds=charge["released_unix_ms"] / 1000 - started_unix_s,
            epsilon_worst_case=charge["epsilon_worst_case"],
            epsilon_data_dependent=charge["epsilon_data_dependent"],
        )
        for charge in unit["history"]
    )
    more = {"notion": promise_words(guarantee), "bound": settings.charged_bound, "history": history}
    return UnitSpending.model_validate({**unit, **more})
