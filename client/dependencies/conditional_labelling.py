"""Labels for a pool, asked as dependencies suggest: parents first, children where they may be present."""

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ostraka.client.dependencies.combined import PARENTS, RULES_FILE, Combined, combine, folder_of
from ostraka.client.dependencies.merged_labels import write_combined
from ostraka.client.dependencies.partial_runs import PartialRun, Pool
from ostraka.client.dependencies.rules import Dependencies, load_dependencies, write_dependencies
from ostraka.client.peers.retry import Retry
from ostraka.client.run import labelling
from ostraka.client.run.labelling import LabelResult
from ostraka.client.run.labels_file import PoolIds
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.run_folder import held
from ostraka.client.run.run_planner import run_planner
from ostraka.client.run.site import connect, load_query_site, load_site_task
from ostraka.client.session.answers import Answer
from ostraka.client.session.batch import Peers
from ostraka.client.session.meter import Meter, SessionObserver, StepProgress
from ostraka.client.session.protocols import Switches
from ostraka.client.session.run_state import STATE_FILE, Stop
from ostraka.common.clock import Clock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan import Plan
from ostraka.common.task import Source, Task


@dataclass(frozen=True)
class DependentResult(LabelResult):
    """What the runs have come to; a query counts as asked once nothing of it is left to ask.

    Attributes:
        implied: labels that are absent because their parent is, and that nobody was asked about.
        partly: queries of which some labels were asked and others are still to be.
    """

    implied: int = 0
    partly: int = 0


def label_by_dependencies(
    site_folder: Path,
    pool: Source,
    options: PlanOptions,
    folder: Path,
    *,
    dependencies: Path,
    task_file: Path | None = None,
    on_progress: Callable[[DependentResult], None] = lambda _: None,
    on_step: Callable[[StepProgress], None] = lambda _: None,
    retry: Retry | None = None,
    clock: Clock | None = None,
    random: Callable[[int], bytes] = secrets.token_bytes,
    watch: SessionObserver | None = None,
) -> DependentResult:
    """Label the records of `pool` as `labelling.label` does, and leave out what others imply.

    A batch of the labels that are no child is asked first, then one of the children of every parent for the
    queries so far whose parent is present or was not answered, and so on. Each of these questions is a run of
    its own in a sub-folder of `folder`, and all together make its labels.csv. Calling again goes on, wherever
    it stopped. Raises as `labelling.label`, and `config.invalid`, `task.mismatch` or `run.mismatch` for
    dependencies that are damaged, or not of the task or the folder.
    """
    site, rules = load_query_site(site_folder), load_dependencies(dependencies)
    task = load_site_task(site_folder, task_file)
    rules.check(task)
    records = task.records(pool)
    features, ids = task.prepare(records.X), PoolIds.of(task, records)
    clock, retry = clock or SystemClock(), retry or Retry()
    planner = run_planner(site, task, options, len(features), clock, retry)
    switches = Switches(Meter(on_step, watch), random)
    with held(folder):
        _keep(rules, folder)
        asking = ConditionalLabelling(rules, task, Pool(folder, features, planner, switches, random))
        asking.check()
        try:
            with connect(site, asking.plan.parties, clock, retry) as peers:
                asking.run(peers, lambda: on_progress(asking.result()))
        finally:
            write_combined(folder, asking.combined(), ids)
        return asking.result()


class ConditionalLabelling:
    """Drives the runs of one pool."""

    def __init__(self, rules: Dependencies, task: Task, pool: Pool) -> None:
        """Take what to ask about; runs found in the pool's folder go on."""
        self._rules = rules
        self._pool = pool
        children = {rule.child for rule in rules.dependencies}
        first = tuple(name for name in task.classes if name not in children)
        self._first = PartialRun(pool, PARENTS, first)
        self._after = {
            task.classes.index(parent): PartialRun(pool, folder_of(parent, task.classes), names)
            for parent, names in rules.families.items()
        }

    @property
    def plan(self) -> Plan:
        """The plan of the labels that are asked first."""
        return self._first.store.state.parsed_plan()

    def check(self) -> None:
        """Raise `budget.too_small`, before anything is asked, where budgets pay for no query."""
        if not self._first.made:
            self._first.planner.check()

    def run(self, peers: Peers, on_progress: Callable[[], None]) -> None:
        """Ask until every query is settled or a public limit ends it, and close what is done."""
        on_progress()
        while any(part.pending(rows) for part, rows in self._due()):
            for part, rows in self._due():
                if not part.advance(rows, peers, lambda _: on_progress()):
                    return
        for part in self._parts():
            part.close(peers)

    def combined(self) -> Combined:
        """Return what is known."""
        states = {part.name: part.store.state for part in self._parts()}
        return combine(self._rules, states)

    def result(self) -> DependentResult:
        """Return the outcome of the runs."""
        combined = self.combined()
        states = list(combined.parts.values())
        plan, whole = states[0].parsed_plan(), combined.answers.keys() - combined.partly
        return DependentResult(
            run=self._pool.folder,
            queries=combined.queries,
            asked=len(whole),
            answered=sum(combined.answers[row] is not None for row in whole),
            stopped=next((state.stopped for state in states if state.stopped), None),
            enforce=states[0].enforce,
            bound=states[0].bound,
            encoding=plan.encoding,
            tally=plan.tally,
            lost=sum(state.lost() for state in states),
            left_out=self._left_out(),
            steps=self._pool.switches.meter.steps,
            unguaranteed=tuple(sorted({site for state in states for site in state.unguaranteed})),
            implied=sum(map(len, combined.implied.values())),
            partly=len(combined.partly),
        )

    def _due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Every run with the rows that it is to ask: children where their parent is not absent.

        What died in a batch of children is so asked again together with children of further rows.
        """
        yield self._first, range(self.plan.queries)
        for parent, part in self._after.items():
            yield part, [row for row, given in self._first.answers.items() if not _absent(given, parent)]

    def _parts(self) -> list[PartialRun]:
        """Return the runs that exist: one is made when it is first asked something."""
        return [self._first, *(part for part in self._after.values() if part.made)]

    def _left_out(self) -> Mapping[str, Stop]:
        errors = {site: error for part in self._parts() for site, error in part.left_out.items()}
        return {site: Stop(code=error.code, message=error.message) for site, error in sorted(errors.items())}


def _keep(rules: Dependencies, folder: Path) -> None:
    """Write the dependencies into a new folder; raise `run.mismatch` where it holds another kind of run."""
    kept = folder / RULES_FILE
    if (folder / STATE_FILE).exists() or (kept.exists() and load_dependencies(kept) != rules):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a run without dependencies, or with others: repeat its options to resume it, or "
            "name another --out folder.",
        )
    write_dependencies(rules, kept)


def _absent(answer: Answer, label: int) -> bool:
    return isinstance(answer, tuple) and answer[label] == 0


def as_json(result: DependentResult) -> dict[str, Any]:
    """Return the result in JSON's types."""
    return labelling.as_json(result) | {"implied": result.implied, "partly": result.partly}
