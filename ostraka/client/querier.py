"""The querying party's Python API: what `ostraka query` does, with files, frames or arrays."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from ostraka.client import retraining
from ostraka.client.console import show_progress
from ostraka.client.dependencies.conditional_labelling import label_by_dependencies
from ostraka.client.dependencies.grouped_labelling import label_by_settings
from ostraka.client.describing import describing
from ostraka.client.describing.describe_options import DescribeOptions
from ostraka.client.describing.describing import DescribingRun, Description
from ostraka.client.fitting import fitting
from ostraka.client.fitting.fit_options import FitOptions
from ostraka.client.fitting.fit_state import FitState
from ostraka.client.fitting.fitting import FitResult, FittingRun
from ostraka.client.report import run_report
from ostraka.client.run import labelling, planning, site
from ostraka.client.run.asked_before import Question, is_begun, remembering, rows_of_run
from ostraka.client.run.labelling import LabelledPool, LabellingRun, LabelResult
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.planning import PlanResult
from ostraka.client.run.run_folder import require_no_site
from ostraka.client.run.site import CheckResult, load_query_site, load_site_task
from ostraka.client.session.meter import QueryMetrics
from ostraka.client.students.student_result import StudentResult
from ostraka.client.students.trainers import Choice
from ostraka.common.datasets import Dataset
from ostraka.common.errors import OstrakaError
from ostraka.common.mechanism import invalid_plan
from ostraka.common.task import Source, Task
from ostraka.common.telemetry.site import observing


class Querier:
    """A querying party: asks other parties to label records, and learns from their answers.

    Records are a file (.csv, .parquet, .xlsx, .npz), a table of pandas, polars or pyarrow, or a
    `ostraka.datasets.Dataset`.
    """

    def __init__(self, site: Path | str, *, task: Path | str | None = None) -> None:
        """Take the folder of a querying site and its task file; default: task.toml in that folder.

        Raises:
            OstrakaError: `config.invalid` for another role's folder, and the errors of a damaged task.
        """
        self.site = Path(site)
        self._task_file = None if task is None else Path(task)
        load_query_site(self.site)

    @property
    def task(self) -> Task:
        """The task, on which all sites have agreed."""
        return load_site_task(self.site, self._task_file)

    def check(self, records: Source) -> CheckResult:
        """Compare records with the task; raise `task.mismatch` or `data.*` with the difference."""
        return site.check(self.site, records, task_file=self._task_file)

    def plan(self, options: PlanOptions, pool: Source | None = None, *, curves: bool = False) -> PlanResult:
        """Ask the guardian for the worst-case cost of labelling to every party; nothing is opened or charged.

        Without a pool, `options.queries` is the number of queries. `curves` also asks for plans of other
        sizes, for a plot. Raises as `label`.
        """
        return planning.plan(self.site, pool, options, task_file=self._task_file, curves=curves)

    def label(
        self,
        pool: Source,
        options: PlanOptions,
        run: Path | str,
        *,
        student: Path | str | None = None,
        dependencies: Path | str | None = None,
        label_settings: Path | str | None = None,
        again: bool = False,
        before: Callable[[PlanResult], object] | None = None,
    ) -> LabelledPool:
        """Label a pool with the parties' models; calling again resumes an interrupted run.

        Everything is stored in the folder `run`, including labels.csv. A public limit (a budget, a daily
        limit) ends it early: `LabelledPool.result.stopped` says which.

        Args:
            pool: records to label.
            options: the mechanism, and everything else in the plan.
            run: folder of the run, created if needed.
            student: for `Interactive`, a student that `retrain` saved.
            dependencies: for a multi-label task, a file of labels that imply others.
            label_settings: for a multi-label task, a file with settings of single labels.
            again: whether to pay again for records that another run of this site asked about.
            before: called with the worst-case cost of a new run, before any party is asked; may raise to
                cancel.

        Raises:
            OstrakaError: `run.asked_before` for records that another run asked about, refusals of the
                guardian or a party, `server.unreachable`, `quorum.lost`, `data.*` and `task.mismatch` for the
                pool, `run.mismatch` for a folder of another run, or of a site.
        """
        folder = Path(run)
        require_no_site(folder)
        records = self.task.pool(pool)
        begun = is_begun(folder)
        with ExitStack() as stack:
            stack.enter_context(self._remembering(records, options, folder, begun=begun, again=again))
            if before is not None and not begun:
                several = dependencies is not None or label_settings is not None
                self._tell_cost(before, records, options, several=several)
            registry = stack.enter_context(observing(self.site))
            bars = stack.enter_context(show_progress())
            ask: Callable[..., LabelResult]
            if label_settings is not None:
                if dependencies is not None or student is not None:
                    raise invalid_plan(
                        "label settings say how labels are asked; leave out --dependencies and --student"
                    )
                ask = partial(label_by_settings, settings=Path(label_settings))
            elif dependencies is None:
                ask = partial(labelling.label, student=None if student is None else Path(student))
            elif student is None and options.labels is None:
                ask = partial(label_by_dependencies, dependencies=Path(dependencies))
            else:
                raise invalid_plan("dependencies say which labels are asked; leave out labels and --student")
            told = LabellingRun(bars.labelled, bars.stepped, QueryMetrics(registry))
            result = ask(self.site, records, options, folder, task_file=self._task_file, run=told)
        return LabelledPool.read(folder, result=result)

    def _tell_cost(
        self,
        before: Callable[[PlanResult], object],
        records: Dataset,
        options: PlanOptions,
        *,
        several: bool,
    ) -> None:
        """Report the cost of a plan for all labels, unless it fails where `several` plans may be possible."""
        try:
            planned = self.plan(options, records)
        except OstrakaError:
            if several:
                return
            raise
        before(planned)

    def _remembering(
        self, records: Dataset, options: PlanOptions, run: Path, *, begun: bool, again: bool
    ) -> AbstractContextManager[None]:
        question = Question.of(self.site, run, self.task, records, options.labels, options.queries)
        return remembering(
            question, lambda: rows_of_run(question), begun=begun, again=again, paid=run_report.cost_text
        )

    def fit(
        self,
        pool: Source | None,
        labelled: Source | None,
        options: FitOptions,
        run: Path | str,
        *,
        test: Source | None = None,
        label_pool: bool = False,
        before: Callable[[FitState], object] = lambda _: None,
    ) -> FitResult:
        """Learn a model of all parties' records from noisy sums; calling again resumes an interrupted fit.

        Everything is stored in the folder `run`: the model as model.skops, the questions and their cost as
        fit.json.

        Args:
            pool: unlabelled records like the parties', if any.
            labelled: own labelled records, if any.
            options: learner, epsilon and parties.
            run: folder of the run, created if needed.
            test: labelled records to measure on; None: own records, which the model used.
            label_pool: whether to write labels.csv, the model's predictions for the pool.
            before: called with what a new run reveals and costs, before any party is asked; may raise to
                cancel.

        Raises:
            OstrakaError: as `ostraka.client.fitting.fitting.fit`.
        """
        with show_progress() as bars:
            told = FittingRun(bars.show_sums, before=before)
            return fitting.fit(
                self.site,
                pool,
                labelled,
                options,
                Path(run),
                test=test,
                task_file=self._task_file,
                label_pool=label_pool,
                run=told,
            )

    def describe(
        self,
        options: DescribeOptions,
        run: Path | str,
        *,
        before: Callable[[Description], object] = lambda _: None,
    ) -> Description:
        """Count all parties' records by the values of columns, with noise; calling again costs nothing more.

        Args:
            options: columns, conditions, epsilon and parties.
            run: folder of the run, created if needed.
            before: called with the cost before any party is asked; may raise to cancel.

        Raises:
            OstrakaError: as `ostraka.client.describing.describing.describe`.
        """
        told = DescribingRun(before=before)
        return describing.describe(self.site, options, Path(run), task_file=self._task_file, run=told)

    def retrain(
        self,
        labelled: Source | None = None,
        run: Path | str | None = None,
        pool: Source | None = None,
        *,
        test: Source | None = None,
        choice: Choice | None = None,
        out: Path | str | None = None,
        seed: int = 0,
    ) -> StudentResult:
        """Train a student on own labels, and one on released labels as well; save the second.

        Args:
            labelled: own labelled records, if any.
            run: folder of a run; None: learn from own labels only.
            pool: the records that the run labelled.
            test: labelled records to measure on; None: own records, by cross-validation.
            choice: the student and its training; default: logistic regression.
            out: model file; default: in `run`.
            seed: of the training.

        Raises:
            OstrakaError: `data.*`, `task.mismatch`, `run.mismatch`, `config.invalid`, `model.*`.
        """
        with show_progress() as shown:
            return retraining.retrain(
                self.site,
                labelled,
                None if run is None else Path(run),
                pool,
                test=test,
                choice=choice,
                out=None if out is None else Path(out),
                task_file=self._task_file,
                seed=seed,
                progress=shown.trained,
            )

    def report(self, run: Path | str, *, delta: float | None = None) -> dict[str, Any]:
        """Return a run's questions, answers and worst-case cost to every party, as JSON types.

        Epsilons are at the delta of each budget unless `delta` is given.

        Raises `data.missing` or `run.mismatch` if there is no run, and `config.invalid` for a delta outside
        (0, 1).
        """
        return run_report.report(Path(run), delta=delta)
