"""Labels for a pool: run a session from a site folder into a run folder, and resume it there."""

import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostraka.client.peers.party_peer import Clusters
from ostraka.client.peers.retry import Retry
from ostraka.client.run.combined import is_combined
from ostraka.client.run.labels import Labels, write_labels
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.pool import AskedPool
from ostraka.client.run.run_folder import hold_folder, open_run
from ostraka.client.run.run_planner import run_planner
from ostraka.client.run.site import connect, load_class_task, load_query_site
from ostraka.client.session.batch import Peers, Queries
from ostraka.client.session.meter import Meter, SessionObserver, StepProgress, StepTotals
from ostraka.client.session.protocols import Switches
from ostraka.client.session.run_state import STATE_FILE, RunState, RunStore, Stop, Student
from ostraka.client.session.session import SessionDriver
from ostraka.client.students.predictions import Beliefs, read_beliefs
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Interactive, Mechanism, invalid_plan
from ostraka.common.plan.choices import BALLOTS, ENCODING, TALLY
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.task import Source


@dataclass(frozen=True)
class LabelResult:
    """The state of a run.

    Attributes:
        run: the run's folder, with labels.csv and session.json.
        queries: number of queries in the plan.
        asked: number of settled queries.
        answered: how many of them got a label (multi-label: at least one).
        stopped: why fewer were asked than planned, else None.
        enforce: the federation's policy, as in the grant.
        bound: likewise.
        encoding: encoding of queries.
        tally: how votes were tallied.
        ballots: whether ballots were verified.
        by_student: number of abstained queries that the student of an Interactive run labelled.
        lost: queries that were charged but whose answers were lost, in a blind tally or because the guardian
            dropped them; they were asked and charged again, as far as the session's limit allows.
        left_out: parties left out at the end, each with its code and sentence.
        steps: time and traffic of each step in this call.
        unguaranteed: parties whose teachers learned by ttac, so labels have no formal guarantee.
        repeated: records of the pool that repeat another one; they share its label and were not asked.
    """

    run: Path
    queries: int
    asked: int
    answered: int
    stopped: Stop | None
    enforce: str
    bound: str
    encoding: ENCODING
    tally: TALLY
    ballots: BALLOTS
    by_student: int = 0
    lost: int = 0
    left_out: Mapping[str, Stop] = field(default_factory=dict)
    steps: tuple[StepTotals, ...] = field(default=(), compare=False)
    unguaranteed: tuple[str, ...] = ()
    repeated: int = 0

    @property
    def abstained(self) -> int:
        """Queries that were asked and got no answer."""
        return self.asked - self.answered

    @property
    def unasked(self) -> int:
        """Queries of the plan that were not asked."""
        return self.queries - self.asked


@dataclass(frozen=True, eq=False)
class LabelledPool(Labels):
    """Labels that were just released, and the run's state.

    Attributes:
        result: number of queries asked and answered, and why no more, if so.
    """

    result: LabelResult = field(kw_only=True)


@dataclass(frozen=True)
class LabellingRun:
    """Settings of labelling that do not change the plan.

    Attributes:
        on_progress: called with the run's state, after each batch.
        on_step: called with the number of parties that have voted in each batch, or the progress of a
            confidential session's steps.
        watch: receives the ends of batches and steps.
        retry: how often an unreachable server is called again.
        clock: the clock.
        random: `random(n)` returns n random bytes, for secrets and nonces.
    """

    on_progress: Callable[[LabelResult], None] = lambda _: None
    on_step: Callable[[StepProgress], None] = lambda _: None
    watch: SessionObserver | None = None
    retry: Retry = field(default_factory=Retry)
    clock: Clock = field(default_factory=SystemClock)
    random: Callable[[int], bytes] = secrets.token_bytes

    def switches(self) -> Switches:
        """Return the switches of a session, with a new meter."""
        return Switches(Meter(self.on_step, self.watch), self.random)


UNWATCHED = LabellingRun()
"""No callbacks, and the machine's clock and randomness."""


def label(
    site_folder: Path,
    pool: Source,
    options: PlanOptions,
    run_folder: Path,
    *,
    student: Path | None = None,
    task_file: Path | None = None,
    run: LabellingRun = UNWATCHED,
) -> LabelResult:
    """Label the records of `pool` and store everything in `run_folder`; a run in that folder is resumed.

    Interactive takes a `student` (skops) as `retrain` saves it: its probabilities go to the guardian. If the
    guardian does not answer, the student's label counts if it is confident.

    Encrypted queries are encoded here, by the public network that the plan names; plain ones by the parties.

    A new run first asks the guardian whether budgets pay for a query; if not, it raises `budget.too_small`
    before anything is encoded or opened.

    labels.csv is updated however this ends. A public limit (budget.too_small, session.ended, grant.expired,
    policy.daily_limit, batch.too_large) is reported as `stopped`. If somebody has to act (server.unreachable,
    quorum.lost, data.*, run.mismatch, ...), OstrakaError is raised; calling again resumes.
    """
    site = load_query_site(site_folder)
    task = load_class_task("labelling", site_folder, task_file)
    asked = AskedPool.load(task, pool, options.mechanism, run_folder)
    planner = run_planner(site, task, asked.count_queries(options), len(asked), run.clock, run.retry)
    if not (run_folder / STATE_FILE).exists():
        planner.check()
    beliefs = _beliefs(options.mechanism, student, asked.queries, len(task.classes))
    queries = Queries(planner.encode(asked.queries), None if beliefs is None else beliefs.scores)
    switches = run.switches()

    def report_progress(state: RunState) -> None:
        run.on_progress(_result(run_folder, state))

    with hold_folder(run_folder):
        _check_alone(run_folder)
        own = _student(options.mechanism, beliefs, asked)
        store = open_run(run_folder, task, asked, own, planner, run.random(NONCE_BYTES))
        queries = replace(queries, clusters=_clusters(store.state))
        connected = partial(connect, site, store.state.parse_plan().parties, run.clock, run.retry)
        # Even if the session fails, labels.csv has everything answered and charged so far.
        try:
            left_out = _run_session(connected, store, queries, report_progress, switches)
        finally:
            write_labels(run_folder, store.state, asked.ids)
        return _result(run_folder, store.state, left_out, switches.meter.steps)


def _run_session(
    connected: Callable[[], AbstractContextManager[Peers]],
    store: RunStore,
    queries: Queries,
    on_progress: Callable[[RunState], None],
    switches: Switches,
) -> Mapping[str, OstrakaError]:
    """Ask all pending queries; return the parties that were left out at the end, and why."""
    if store.state.closed:
        return {}
    with connected() as peers:
        session = SessionDriver.open(peers, store, queries, on_progress, switches)
        session.run()
        return session.left_out


def _check_alone(folder: Path) -> None:
    """Raise `run.mismatch` for a folder of combined runs."""
    if is_combined(folder):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds runs with dependencies or label settings: repeat --dependencies or "
            "--label-settings to go on, or name another --out folder.",
        )


def _beliefs(
    mechanism: Mechanism, student: Path | None, features: NDArray[np.float32], classes: int
) -> Beliefs | None:
    """Return the student's scores; raise `plan.invalid` if only one of Interactive and a student is given."""
    if mechanism.takes_scores != (student is not None):
        advice = "give its file as --student" if student is None else "leave out --student"
        raise invalid_plan(f"mechanism {mechanism.kind} was chosen, and interactive asks a student; {advice}")
    return None if student is None else read_beliefs(student, features, classes)


def _student(mechanism: Mechanism, beliefs: Beliefs | None, asked: AskedPool) -> Student | None:
    """Return the student and its labels, by row of the pool."""
    if beliefs is None or not isinstance(mechanism, Interactive):
        return None
    labels = beliefs.confident(mechanism.confidence)
    by_row = tuple(labels[query] for query in asked.copies) if asked.copies else labels
    return Student(sha256=beliefs.sha256, labels=by_row)


def _clusters(state: RunState) -> Clusters | None:
    if not state.clusters:
        return None
    return Clusters(state.parse_plan().queries, np.array(state.clusters, dtype=np.int32))


def _result(
    run: Path,
    state: RunState,
    left_out: Mapping[str, OstrakaError] | None = None,
    steps: tuple[StepTotals, ...] = (),
) -> LabelResult:
    answers = state.by_query()
    plan = state.parse_plan()
    return LabelResult(
        run=run,
        queries=plan.queries,
        asked=len(answers),
        answered=sum(answer is not None for answer in answers.values()),
        stopped=state.stopped,
        enforce=state.enforce,
        bound=state.bound,
        encoding=plan.encoding,
        tally=plan.tally,
        ballots=plan.ballots,
        by_student=len(state.by_student()),
        lost=state.count_lost(),
        left_out={
            site: Stop(code=error.code, message=error.message) for site, error in (left_out or {}).items()
        },
        steps=steps,
        unguaranteed=state.unguaranteed,
        repeated=state.repeated,
    )


def as_json(result: LabelResult) -> dict[str, Any]:
    """Return the result as JSON types."""
    counts = ("queries", "asked", "answered", "abstained", "by_student", "unasked")
    terms = ("enforce", "bound", "encoding", "tally", "ballots")
    return {
        "run": str(result.run),
        **{name: getattr(result, name) for name in (*counts, *terms, "lost")},
        "stopped": result.stopped.model_dump() if result.stopped else None,
        "left_out": {site: stop.model_dump() for site, stop in result.left_out.items()},
        "steps": [asdict(step) for step in result.steps],
        "unguaranteed": list(result.unguaranteed),
        "repeated": result.repeated,
    }
