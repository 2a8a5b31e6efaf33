"""One simulation from its settings to its report; refused first where its budgets admit no query."""

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import numpy as np

from ostraka.client.session.meter import StepProgress
from ostraka.common.console.texts import epsilon_text, number_text
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import labelling
from ostraka.common.mechanism.arguments import parameters_of
from ostraka.common.planning.candidate import Candidate
from ostraka.common.privacy import budget_amount, budget_rdp, propose_order
from ostraka.common.task import Task
from ostraka.deploy.simulation.active_learning import ask_in_rounds
from ostraka.deploy.simulation.defaults import RANDOMIZED
from ostraka.deploy.simulation.federation import CORES, GUARDIAN, QUERY, Federation
from ostraka.deploy.simulation.html import render
from ostraka.deploy.simulation.outcome import SimulationOutcome, report_on
from ostraka.deploy.simulation.plan import plan_of, plan_options
from ostraka.deploy.simulation.processes import Start, Supervisor, forking
from ostraka.deploy.simulation.quality import RoundQuality, ensemble_metrics, sampled
from ostraka.deploy.simulation.querier_turns import run_queriers
from ostraka.deploy.simulation.querying_party import (
    OnStep,
    OnTraining,
    Progress,
    QueryOutcome,
    SimulationContext,
    Stopwatch,
    ask,
)
from ostraka.deploy.simulation.report import SimulationReport, TrainingSummary
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.split import Split, split_data
from ostraka.guardian.admin.confidential import totals

TRAIN = "train the teachers"
JSON_FILE, HTML_FILE = "report.json", "report.html"


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

    Processes are started by ``start``, else by fork. Every one of them has stopped when this returns or
    raises. Raises ``config.invalid`` for a folder in use or a task that the data are
    not, ``budget.too_small`` before anything is trained where budgets admit no query, ``process.failed``
    naming the site and its log, ``plan.invalid`` for choices that exclude each other, and whatever splitting,
    labelling and retraining raise.
    """
    watch = Stopwatch(announce)
    _claim(folder)
    with watch.step("split the data"):
        split = split_data(settings)
        _check_task(settings, split)
        settings = settings.for_pool(len(split.pool))
        check_affordable(settings, _class_count(split))
    threads = {"OMP_NUM_THREADS": str(max(1, CORES // settings.parties))}
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
    federation: Federation, settings: Settings, split: Split, watch: Stopwatch, on_step: OnStep
) -> tuple[Task, TrainingSummary | None]:
    """Start all sites; return the task, and how teachers learned together if they did."""
    with watch.step("provision the sites"):
        federation.provision()
        task = federation.place(split)
        plan_of(settings, len(split.pool), task)  # refuses what does not fit before anything is trained
    if settings.joint_training:
        with watch.step("start the guardian"):
            federation.serve_guardian()
        with watch.step("train the teachers together"):
            training = federation.train_jointly()
        with watch.step("start the parties"):
            federation.serve_parties()
        return task, training
    with watch.step(TRAIN):
        on_step(StepProgress(TRAIN, 0, settings.parties))
        federation.train(lambda done: on_step(StepProgress(TRAIN, done, settings.parties)))
    with watch.step("start the sites"):
        federation.serve()
        federation.set_budgets()
    return task, None


def _class_count(split: Split) -> int:
    """Return how many classes, or labels of a multi-label task, the records of the pool have."""
    return split.truth.shape[1] if split.truth.ndim == 2 else len(np.unique(split.truth))


def _check_task(settings: Settings, split: Split) -> None:
    several = split.truth.ndim == 2
    found = "multilabel" if several else "single"
    if settings.task not in (None, found):
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting task: {settings.task} was asked, and the records of {settings.data} are {found}; "
            "correct it or bring other data.",
        )
    if settings.dependencies and not several:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            "Setting dependencies: they are between several labels of a record, and these records have one "
            "each; leave it out.",
        )
    if settings.plan_mechanism.multi_label != several:
        fitting = [kind for kind, known in labelling().items() if known.multi_label == several]
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Setting mechanism: {settings.mechanism_kind} does not answer {found} tasks; "
            f"choose one of {', '.join(fitting)}.",
        )


def _ask(context: SimulationContext, training: TrainingSummary | None) -> SimulationOutcome:
    started = time.time()
    asked, rounds = _asked(context)
    with context.watch.step("ask the teachers without privacy"):
        sites = [context.federation.site(name) for name in context.settings.sites]
        tested = sampled(context.split.test, context.settings.seed)
        ensemble = ensemble_metrics(sites, context.task, tested)
    with context.watch.step("compute what the votes cost"):
        context.federation.end_guardian()
    units = totals(context.federation.site(GUARDIAN))
    return SimulationOutcome(started, training, asked, ensemble, len(tested), rounds, units)


def _asked(context: SimulationContext) -> tuple[tuple[QueryOutcome, ...], tuple[RoundQuality, ...]]:
    if context.settings.queriers is not None:
        return run_queriers(context), ()
    if context.settings.label_rounds > 1:
        site, options = context.federation.site(QUERY), plan_options(context.settings)
        one, rounds = ask_in_rounds(context, site, context.split.truth, options)
        return (one,), rounds
    return (ask(context),), ()


NOISE = ("sigma", "sigma1", "sigma2")
AT_ONCE = ("noise_cluster", *RANDOMIZED)
"""Mechanisms that release all their queries together."""
LARGEST, PRECISION = 1e4, 5e-3
"""The largest epsilon that is searched for one that suffices, and how exactly it is told."""


def check_affordable(settings: Settings, classes: int) -> None:
    """Raise `budget.too_small` where not even one answered query fits a party's budget in the worst case.

    Nothing is checked where that depends on votes, on consent levels or a variant, on which labels are asked,
    or on the releases of a label-DP scheme: the guardian decides there.
    """
    differing = settings.consent or settings.variant != "none"
    if settings.enforce != "worst_case" or differing or settings.dependencies or settings.label_dp:
        return
    budget = min(map(settings.epsilon_of, settings.sites))
    candidate = Candidate(settings.plan_mechanism, classes)
    queries = settings.batch if settings.mechanism_kind in AT_ONCE else 1
    if _fits(settings, candidate, queries, budget):
        return
    what = "One answered query" if queries == 1 else f"A release of {queries} answers"
    needed = _least(settings, candidate, queries, budget)
    costs = f"epsilon {epsilon_text(needed)}" if needed else f"more than epsilon {LARGEST:g}"
    option = "--epsilons" if settings.epsilons else "--epsilon"
    raised = f"{option} to {epsilon_text(needed)} or more, or " if needed else ""
    raise OstrakaError(
        ErrorCode.BUDGET_TOO_SMALL,
        f"{what} costs {costs} at these settings (worst case, delta {number_text(settings.delta)}), and a "
        f"party's budget is {number_text(budget)}: raise {raised}the noise ({_noise(settings)}) "
        "and with it --teachers.",
    )


def _fits(settings: Settings, candidate: Candidate, queries: int, epsilon: float) -> bool:
    try:
        order = settings.order or propose_order(epsilon, settings.delta)
    except OstrakaError:
        return False
    cost = candidate.cost(order)
    wanted = cost.reservation(queries, candidate.answers)
    return wanted <= budget_amount(max(0.0, budget_rdp(epsilon, settings.delta, order)))


def _least(settings: Settings, candidate: Candidate, queries: int, budget: float) -> float | None:
    """Return the least epsilon above `budget` that pays, rounded up; None where LARGEST does not."""
    low, high = budget, min(2 * budget, LARGEST)
    while not _fits(settings, candidate, queries, high):
        if high == LARGEST:
            return None
        low, high = high, min(2 * high, LARGEST)
    while high - low > PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if _fits(settings, candidate, queries, middle) else (middle, high)
    return math.ceil(high * 100) / 100


def _noise(settings: Settings) -> str:
    taken = parameters_of(settings.plan_mechanism)
    given = ", ".join(name for name in NOISE if name in taken) or (
        "a smaller gamma" if "gamma" in taken else ""
    )
    return f"{given} of --mechanism" if given else "by --mechanism"
