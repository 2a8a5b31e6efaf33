"""Models of sums in a simulation: requested from the services, or drawn in this process.

Drawn models are for comparison with votes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ostraka.client.fitting.accuracy import NumberFigures, measure_model, measure_numbers, plain_regression
from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fitting import FitResult, FittingRun, fit
from ostraka.client.fitting.problems import KnownRecords
from ostraka.client.fitting.sum_plans import ChosenPlan
from ostraka.client.learners.fit import FitReport
from ostraka.client.run.site import SiteEncoder
from ostraka.client.session.meter import StepProgress
from ostraka.client.students.evaluation import test_student
from ostraka.client.students.trainers import Choice, trainer
from ostraka.client.sums.local import LocalSums
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.datasets import Dataset
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.accuracy import Metrics, measure
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy.gaussian import gaussian_budget
from ostraka.common.sums.questions import Rows
from ostraka.common.task import Task
from ostraka.deploy.simulation.federation import QUERY
from ostraka.deploy.simulation.number_quality import NumberQuality
from ostraka.deploy.simulation.quality import SumModel
from ostraka.deploy.simulation.querying_party import RUN, QueryOutcome, SimulationContext
from ostraka.deploy.simulation.settings import Settings
from ostraka.deploy.simulation.settings_parts import BudgetSettings
from ostraka.deploy.simulation.split import Split

DRAWN_FEATURES = 1000
"""Largest number of features for which a model is drawn beside votes: the time grows with their cube."""
LEARN = "learn from sums"
"""The step in which parties are asked for sums."""


@dataclass(frozen=True)
class Learned:
    """What a querying party learned from sums over the services.

    Attributes:
        result: the fit.
        model: of sums, in the form of the report.
        plan: of the sums.
    """

    result: FitResult = field(repr=False)
    model: SumModel
    plan: Plan


def learn_from_sums(context: SimulationContext) -> Learned:
    """Let the querying party learn from sums; raise what `fit` raises."""
    settings = context.settings
    site = context.federation.site(QUERY)
    options = FitOptions(
        learner=settings.learning.learn,
        epsilon=affordable_epsilon(settings),
        quorum=settings.least_parties,
        variant=settings.plan.variant,
        ballots=settings.plan.ballots,
    )

    def report(done: int, total: int) -> None:
        context.on_step(StepProgress(LEARN, done, total))

    pool, own, test = (site / f"{name}.npz" for name in ("pool", "labelled", "test"))
    with context.watch.step(LEARN):
        result = fit(site, pool, own, options, site / RUN, test=test, run=FittingRun(on_progress=report))
    return Learned(result, _model_of(result), _plan_of(result.run))


def affordable_epsilon(settings: Settings) -> float:
    """Return the epsilon to request: what every unit has, or under a variant the most that one has."""
    budgets = settings.budgets
    parties = [budgets.epsilon_of(site) for site in settings.sites]
    known = list(budgets.level_epsilons.values()) or parties
    return min(known) if settings.plan.variant == "none" else max(known)


def draw_model(settings: Settings, split: Split, task: Task) -> SumModel | None:
    """Return a model of the same budget, with its sums and their noise drawn in this process.

    None if votes are not charged to records that share one budget and use all of it, if the records allow no
    such model, or if it would take longer than the votes.
    """
    budgets = settings.budgets
    differing = budgets.consent is not None or budgets.epsilons is not None or settings.teaching.joint
    if differing or settings.plan.adjacency == "label" or settings.learning.queriers is not None:
        return None
    if len(task.features) > DRAWN_FEATURES:
        return None
    try:
        return _draw(settings.budgets, split, task, tell_pool=settings.plan.encoding == "plain")
    except OstrakaError:
        # It is an addition, and its error must not end the simulation.
        return None


def _draw(budgets: BudgetSettings, split: Split, task: Task, *, tell_pool: bool) -> SumModel:
    known = KnownRecords.read(task, SiteEncoder(), split.pool, split.labelled, split.test)
    mu = math.sqrt(2 * gaussian_budget(budgets.epsilon, budgets.delta))
    problem = known.problem(sum(map(len, split.shards)), tell_pool=tell_pool)
    chosen = ChosenPlan.make("auto", problem, mu)
    source = LocalSums(_rows(task, split.shards), chosen.plan.sigmas, np.random.default_rng())
    fitted = chosen.choice.learner.fit(problem, chosen.plan, source)
    measured = measure_model(fitted.model, task, known.own, known.test)
    return SumModel(
        asked=False,
        reason=chosen.choice.reason,
        epsilon=budgets.epsilon,
        rounds_planned=chosen.plan.rounds,
        tells=chosen.plan.tells,
        metrics=measured.model,
        gain=measured.gain,
        **_tell(fitted.report, chosen.plan.warnings),
    )


def measure_pooled(split: Split, task: Task) -> Metrics | None:
    """Return figures of a student of all records together, without privacy; None if there is none."""
    own = _rows(task, (*split.shards, split.labelled))
    test = split.test
    try:
        student = trainer(Choice(), task, None, seed=0)((own.X, own.y), "pooled")
    except OstrakaError as error:
        if error.code is not ErrorCode.DATA_TOO_FEW:
            raise
        return None
    return test_student(student, (task.prepare(test.X), test.labels()), task.classes).metrics


def constant_metrics(split: Split, task: Task) -> Metrics:
    """Return figures of always predicting the most frequent class, or each label's more frequent value."""
    y = split.test.labels()
    if task.multi_label:
        said = ((y == 1).sum(axis=0) >= (y == 0).sum(axis=0)).astype(np.float64)
    else:
        said = np.eye(len(task.classes))[np.bincount(y).argmax()]
    return measure(y, np.broadcast_to(said, (len(y), len(said))), task.classes)


def measure_number_models(split: Split, task: Task, learned: Learned) -> NumberQuality:
    """Return the errors of the model of sums, compared with own numbers, all numbers, and their mean."""
    accuracy = learned.result.accuracy
    own = split.labelled.numbers()
    all_records = _rows(task, (*split.shards, split.labelled))
    y = split.test.numbers()
    pooled = plain_regression().fit(all_records.X, all_records.y).predict(task.prepare(split.test.X))
    return NumberQuality(
        own=accuracy.own,
        after=accuracy.model,
        pooled=measure_numbers(y, pooled),
        constant=measure_numbers(y, np.full(len(y), own.mean())),
        model=learned.model,
    )


def _rows(task: Task, shards: Sequence[Dataset]) -> Rows:
    """Return the records of all shards; an unknown label counts as 0, as parties count it."""
    codes = np.concatenate([shard.X.reshape(len(shard), -1) for shard in shards])
    y = np.concatenate([shard.targets() for shard in shards])
    return Rows(codes, task.prepare(codes), y if task.target is not None else np.maximum(y, 0))


def _tell(report: FitReport, warnings: Sequence[str]) -> dict[str, Any]:
    """Return a learner's report in the form of `SumModel`."""
    return {
        "learner": report.learner,
        "rounds": report.rounds,
        "records": report.records,
        "notes": (*warnings, *report.notes),
    }


def _model_of(result: FitResult) -> SumModel:
    state = result.state
    assert state.report is not None  # noqa: S101 - there is a model
    return SumModel(
        asked=True,
        reason=state.reason,
        epsilon=max(cost.epsilon for cost in state.costs),
        rounds_planned=state.rounds,
        tells=state.tells,
        metrics=None if isinstance(result.accuracy.model, NumberFigures) else result.accuracy.model,
        gain=result.accuracy.gain,
        **_tell(state.report, state.warnings),
    )


def _plan_of(run: Path) -> Plan:
    store = SumStore.load(run)
    assert store is not None  # noqa: S101 - sums were asked for
    return store.plan


def outcome_of_sums(context: SimulationContext, result: FitResult) -> QueryOutcome:
    """Return the outcome of a querying party that asked for sums instead of votes."""
    names = len(context.task.classes)
    nothing = np.empty((0, names) if context.task.multi_label else 0, np.int64)
    accuracy = result.accuracy
    return QueryOutcome(
        site=QUERY,
        labelled=result.state.labelled,
        queries=0,
        asked=0,
        answered=0,
        by_student=0,
        implied=0,
        ended_early=False,
        released=nothing,
        truth=nothing,
        before=accuracy.own if accuracy.own is not None else constant_metrics(context.split, context.task),
        after=accuracy.model,
        gain=accuracy.gain,
        guarantee=None,
    )
