"""A fit from its records to its model: plan, report, ask, learn, measure, and store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ostraka.client.fitting.accuracy import Accuracy, measure_model
from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fit_state import FitState, fit_figures, load_fit, require_same
from ostraka.client.fitting.pool_labels import write_labels
from ostraka.client.fitting.problems import HIDDEN_BY_POLICY, KnownRecords, find_hidden
from ostraka.client.fitting.sum_plans import ChosenPlan
from ostraka.client.learners.choice import Choice
from ostraka.client.learners.fit import Model
from ostraka.client.peers.guardian_peer import GuardianPeer
from ostraka.client.run.run_folder import hold_folder
from ostraka.client.run.site import (
    connect_guardian,
    load_query_site,
    load_site_task,
    site_encoder,
)
from ostraka.client.run.sum_planning import (
    PlannedSums,
    SumAsking,
    plan_sums,
    require_affordable,
    warn_of_unverified,
)
from ostraka.client.run.sum_session import SumRun, open_sums
from ostraka.client.sums.sum_store import SumStore
from ostraka.common.config import SiteConfig
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.estimators.sum_models import SumClassifier, SumRegressor
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Source


@dataclass(frozen=True)
class FittingRun(SumRun):
    """Settings of a fit and its sums that do not change the plan.

    Attributes:
        before: called with a new fit's questions and costs before any party is asked; may raise to cancel.
    """

    before: Callable[[FitState], object] = lambda _: None


UNWATCHED = FittingRun()
"""No callbacks, and the machine's clock and randomness."""


@dataclass(frozen=True)
class FitResult:
    """A model, and the sums and records that it was fitted to.

    Attributes:
        run: the folder, with model.skops and fit.json.
        model: an estimator of scikit-learn.
        state: the questions, their cost, and the learner's report.
        accuracy: the model's accuracy.
    """

    run: Path
    model: Model = field(repr=False)
    state: FitState = field(repr=False)
    accuracy: Accuracy

    @property
    def path(self) -> Path:
        """The model's file."""
        return self.run / self.state.model_file

    def as_json(self) -> dict[str, Any]:
        """Return the result as JSON types."""
        return fit_figures(self.run, self.state)


def fit(
    site_folder: Path,
    pool: Source | None,
    own: Source | None,
    options: FitOptions,
    run_folder: Path,
    *,
    test: Source | None = None,
    task_file: Path | None = None,
    label_pool: bool = False,
    run: FittingRun = UNWATCHED,
) -> FitResult:
    """Learn a model of all parties' records from noisy sums, and save it as RUN/model.skops.

    Everything is stored in `run_folder`; calling again resumes an interrupted fit, and asks for no released
    sum twice.

    Args:
        site_folder: of the querying party.
        pool: unlabelled records like the parties', if any.
        own: own labelled records, if any.
        options: learner, epsilon and parties.
        run_folder: created if needed.
        test: labelled records to measure on; None: own records, which the model used.
        task_file: the task; by default the site's task.toml.
        label_pool: whether to write labels.csv, the model's predictions for the pool.
        run: settings that do not change the plan.

    Raises:
        OstrakaError: `data.*` and `task.mismatch` for records, `config.invalid` if nothing determines the
            range of features, `budget.too_small` if budgets pay for no sum, `policy.refused` if such sums are
            not allowed, `run.mismatch` for a folder of another fit, and errors after which somebody has to
            act (`server.unreachable`, `quorum.lost`, ...): calling again resumes.
    """
    site = load_query_site(site_folder)
    task = load_site_task(site_folder, task_file)
    encoder = site_encoder(site, options.encoder, task)
    known = replace(KnownRecords.read(task, encoder, pool, own, test), hidden=find_hidden(site))
    asking = SumAsking(
        task,
        site.parties,
        options.parties,
        options.quorum,
        options.variant,
        encoder.name,
        encoder.sha256,
        options.ballots,
    )
    if label_pool and pool is None:
        raise OstrakaError(ErrorCode.CONFIG_INVALID, "There is no pool to label: give one.")
    with hold_folder(run_folder):
        result = _fit(site, known, options, asking, run_folder, run)
        if label_pool:
            write_labels(run_folder, known, result.model)
    return result


def _fit(
    site: SiteConfig,
    known: KnownRecords,
    options: FitOptions,
    asking: SumAsking,
    run_folder: Path,
    run: FittingRun,
) -> FitResult:
    """Return the model of a run whose folder is locked: the existing one, or a new one from sums."""
    kept = load_fit(run_folder)
    if kept is not None and kept.is_done:
        require_same(run_folder, kept, _state_of(known, options, kept.mu, kept.records, kept.tells_pool))
        return _keep(run_folder, kept, known, _load_model(run_folder / kept.model_file))
    with ExitStack() as stack:
        guardian = stack.enter_context(connect_guardian(site, run.clock, run.retry))
        state, store = _open_fit(run_folder, known, options, asking, guardian, run)
        problem = known.problem(state.records, tell_pool=state.tells_pool)
        chosen = ChosenPlan.make(state.learner, problem, state.mu)
        with open_sums(site, guardian, store, run) as session:
            fitted = Choice(state.learner, state.reason).learner.fit(problem, chosen.plan, session)
            left_out = {name: error.message for name, error in session.left_out.items()}
            made = state.model_copy(update={"report": fitted.report, "left_out": left_out})
            result = _keep(run_folder, made, known, fitted.model)
            if made.is_done:
                session.close()
    return result


def _open_fit(
    folder: Path,
    known: KnownRecords,
    options: FitOptions,
    asking: SumAsking,
    guardian: GuardianPeer,
    run: FittingRun,
) -> tuple[FitState, SumStore]:
    """Return the fit in a folder and its sums: resumed if there is one, else planned and reported."""
    kept = load_fit(folder)
    store = SumStore.load_own(folder, known=kept is not None)
    if kept is not None and store is not None:
        require_same(folder, kept, _state_of(known, options, kept.mu, kept.records, kept.tells_pool))
        return kept, store
    planned = plan_fit(known, options, asking, guardian)
    sums = planned.sums
    require_affordable(sums)
    state = _state_of(known, options, sums.mu, sums.records, planned.tells_pool, planned)
    run.before(state)
    state.keep(folder)
    # With a nonce of its own: the nonce of the planning request is not secret.
    plan = sums.plan.model_copy(update={"nonce": run.random(NONCE_BYTES)})
    return state, SumStore.create(folder, plan.serialize())


@dataclass(frozen=True)
class PlannedFit:
    """The sums of a fit, and whether they may depend on the pool.

    Attributes:
        sums: with their costs by the guardian.
        tells_pool: whether parties may learn the pool's statistics.
        hidden: why they may not, besides the options; empty if there is no such reason.
    """

    sums: PlannedSums
    tells_pool: bool
    hidden: str


def plan_fit(
    known: KnownRecords, options: FitOptions, asking: SumAsking, guardian: GuardianPeer
) -> PlannedFit:
    """Return the plan of a fit; nothing is opened or charged.

    If the site's configuration or the guardian's policy requires encrypted queries, parties learn nothing
    about the pool, whatever the options say.
    """
    tells_pool = options.tell_pool and not known.hidden
    sums = _plan_sums(known, options, asking, guardian, tells_pool=tells_pool)
    if tells_pool and sums.hides_queries:
        sums = _plan_sums(known, options, asking, guardian, tells_pool=False)
        return PlannedFit(sums, False, HIDDEN_BY_POLICY)
    return PlannedFit(sums, tells_pool, known.hidden)


def _plan_sums(
    known: KnownRecords,
    options: FitOptions,
    asking: SumAsking,
    guardian: GuardianPeer,
    *,
    tells_pool: bool,
) -> PlannedSums:
    nonce = bytes(NONCE_BYTES)

    def make(mu: float, records: int) -> Plan:
        problem = known.problem(records, tell_pool=tells_pool)
        chosen = ChosenPlan.make(options.learner, problem, mu)
        return asking.plan(chosen.mechanism, chosen.plan.rounds, nonce)

    return plan_sums(lambda plan: guardian.plan(plan.serialize()), make, options.epsilon)


def _state_of(
    known: KnownRecords,
    options: FitOptions,
    mu: float,
    records: int,
    tells_pool: bool,
    planned: PlannedFit | None = None,
) -> FitState:
    """Return the state of a fit, as its folder stores it."""
    problem = known.problem(records, tell_pool=tells_pool)
    chosen = ChosenPlan.make(options.learner, problem, mu)
    return FitState(
        task=known.task.name,
        task_sha256=known.task.digest.hex(),
        options=options,
        pool=0 if known.pool is None else len(known.pool),
        labelled=0 if known.own is None else len(known.own),
        **known.digests(),
        records=records,
        mu=mu,
        learner=chosen.choice.name,
        reason=chosen.choice.reason,
        rounds=chosen.plan.rounds,
        tells=chosen.plan.tells,
        tells_pool=tells_pool,
        warnings=(
            *chosen.plan.warnings,
            *(() if planned is None else warn_of_unverified(planned.sums.plan, options.ballots)),
            *_warn(chosen.plan.rounds, planned),
        ),
        costs=() if planned is None else planned.sums.costs,
        reading=known.reading,
    )


def _warn(rounds: int, planned: PlannedFit | None) -> Iterator[str]:
    if planned is None:
        return
    if planned.hidden and planned.tells_pool is False:
        yield planned.hidden
    fits = planned.sums.fits
    if fits is not None and fits < rounds:
        yield (
            f"What is left of the budgets pays for {fits} of {rounds} rounds: the model will be fitted to "
            "these, unless a smaller --epsilon pays for all."
        )


def _load_model(path: Path) -> Model:
    """Return the saved model; raise `data.missing` or `model.invalid` if there is none."""
    from ostraka.client.students.files import load_student, unusable
    from ostraka.client.students.neural import Neural

    model = load_student(path)
    if not isinstance(model, SumClassifier | SumRegressor | Neural):
        raise unusable(path, "it is not a model of sums")
    return model


def _keep(folder: Path, state: FitState, known: KnownRecords, model: Model) -> FitResult:
    """Save a model, then its state: a folder whose state has a model also has its file."""
    from ostraka.client.students.files import save_student

    accuracy = measure_model(model, known.task, known.own, known.test)
    made = state.model_copy(update={"accuracy": accuracy.as_json()})
    save_student(model, folder / made.model_file)
    made.keep(folder)
    return FitResult(folder, model, made, accuracy)
