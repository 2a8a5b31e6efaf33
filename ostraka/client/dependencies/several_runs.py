"""Labels for a pool, asked batch by batch in several runs of some labels each, and merged into one table."""

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ostraka.client.run import labelling
from ostraka.client.run.combined import RULES_FILE, SETTINGS_FILE, Combined
from ostraka.client.run.labelling import LabellingRun, LabelResult
from ostraka.client.run.labels import ABSTAINED, ANSWERED, LABELS_FILE, UNASKED, PoolIds
from ostraka.client.run.options import PlanOptions
from ostraka.client.run.pool import AskedPool
from ostraka.client.run.run_folder import open_run
from ostraka.client.run.run_planner import RunPlanner, run_planner
from ostraka.client.run.site import connect, load_class_task, load_query_site
from ostraka.client.session.answers import Answer, label_matrix
from ostraka.client.session.batch import Peers, Queries
from ostraka.client.session.protocols import Switches
from ostraka.client.session.recovery import close
from ostraka.client.session.run_state import STATE_FILE, RunState, RunStore, Stop
from ostraka.client.session.session import SessionDriver
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import room_in, write_atomic
from ostraka.common.mechanism import Mechanism
from ostraka.common.plan.fields import NONCE_BYTES
from ostraka.common.plan.plan import Plan
from ostraka.common.task import Source


@dataclass(frozen=True)
class Pool:
    """What all runs share.

    Attributes:
        folder: with a sub-folder for each run.
        asked: the records, and the queries that represent them.
        planner: makes the plan of all labels.
        switches: how sessions vote and tally.
    """

    folder: Path
    asked: AskedPool
    planner: RunPlanner
    switches: Switches

    @classmethod
    def of(
        cls,
        site_folder: Path,
        pool: Source,
        options: PlanOptions,
        folder: Path,
        first: str,
        task_file: Path | None,
        run: LabellingRun,
    ) -> Self:
        """Read a pool, and plan the runs on it, the `first` of which has this name, for a site's task.

        Raises as `labelling.label`.
        """
        site = load_query_site(site_folder)
        task = load_class_task("labelling", site_folder, task_file)
        asked = AskedPool.load(task, pool, options.mechanism, folder / first)
        planner = run_planner(site, task, asked.count_queries(options), len(asked), run.clock, run.retry)
        return cls(folder, asked, planner, run.switches())

    @cached_property
    def sent(self) -> NDArray[np.float32]:
        """The queries' features as they are sent, computed once."""
        return self.planner.encode(self.asked.queries)


class PartialRun:
    """One run, created when it is first asked something."""

    def __init__(
        self, pool: Pool, name: str, labels: tuple[str, ...], mechanism: Mechanism | None = None
    ) -> None:
        """Take the sub-folder's `name`, the `labels` to ask, and their own mechanism, if any.

        A run in that folder is resumed; raises `run.mismatch` if it is for another pool, task or plan.
        """
        self.name = name
        self._pool = pool
        self._labels = labels
        self._mechanism = mechanism or pool.planner.options.mechanism
        self._session: SessionDriver | None = None
        self._store = self._open() if (pool.folder / name / STATE_FILE).exists() else None

    @property
    def made(self) -> bool:
        """Whether the run exists yet."""
        return self._store is not None

    @property
    def store(self) -> RunStore:
        """The run's store, created if there was none."""
        self._store = self._store or self._open()
        return self._store

    @property
    def answers(self) -> Mapping[int, Answer]:
        """The answers so far, by query."""
        return self._store.state.by_query() if self._store else {}

    @property
    def left_out(self) -> Mapping[str, OstrakaError]:
        """The parties that were left out of the last batch, and why."""
        return self._session.left_out if self._session else {}

    @property
    def planner(self) -> RunPlanner:
        """The planner for this run's labels only."""
        planner = self._pool.planner
        mechanism = self._mechanism.narrowed(len(self._labels))
        chosen = {"mechanism": mechanism, "labels": self._labels}
        return replace(planner, options=planner.options.model_copy(update=chosen))

    def pending(self, rows: Iterable[int]) -> set[int]:
        """Return which of the given queries are not settled."""
        return set(rows) - self.answers.keys()

    def advance(self, rows: Iterable[int], peers: Peers, on_progress: Callable[[RunState], None]) -> bool:
        """Ask one batch of the given rows that are pending; return False if a public limit ended it."""
        pending = self.pending(rows)
        if not pending:
            return True
        if self._session is None:
            queries = Queries(self._pool.sent)
            self._session = SessionDriver.open(peers, self.store, queries, on_progress, self._pool.switches)
        return self._session.advance(pending)

    def close(self, peers: Peers) -> None:
        """Close the session unless it is closed."""
        if not self.store.state.closed:
            close(peers.guardian, self.store.state.session_id)
            self.store.close()

    def _open(self) -> RunStore:
        pool = self._pool
        folder = self._pool.folder / self.name
        with room_in(folder.parent):
            folder.mkdir(exist_ok=True)
        return open_run(
            folder, pool.planner.task, pool.asked, None, self.planner, pool.switches.random(NONCE_BYTES)
        )


@dataclass(frozen=True)
class PartedResult(LabelResult):
    """The state of the runs; a query counts as asked once all its labels are settled.

    Attributes:
        implied: number of labels that were not asked because they have their parent's value.
        partly: number of queries with some labels asked and others still pending.
    """

    implied: int = 0
    partly: int = 0


class SeveralRuns(ABC):
    """Drives several runs on one pool and asks the run `first` before the other runs."""

    def __init__(self, pool: Pool, first: PartialRun) -> None:
        """Take the pool and the leading run; runs in the pool's folder are resumed."""
        self.pool = pool
        self.first = first

    @abstractmethod
    def due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Yield every run with the rows that it should ask, in order."""

    @abstractmethod
    def parts(self) -> list[PartialRun]:
        """Return the existing runs, the leading run first."""

    @abstractmethod
    def combine(self) -> Combined:
        """Return the combined answers so far."""

    @property
    def plan(self) -> Plan:
        """The plan of the labels that are asked first."""
        return self.first.store.state.parse_plan()

    def check(self) -> None:
        """Raise `budget.too_small`, before any party is asked, if budgets pay for no query."""
        if not self.first.made:
            self.first.planner.check()

    def label(self, on_progress: Callable[[PartedResult], None]) -> PartedResult:
        """Ask everything pending; labels.csv is updated however this ends."""
        planner = self.pool.planner
        try:
            with connect(planner.site, self.plan.parties, planner.clock, planner.retry) as peers:
                self.run(peers, lambda: on_progress(self.result()))
        finally:
            write_combined(self.pool.folder, self.combine(), self.pool.asked.ids)
        return self.result()

    def run(self, peers: Peers, on_progress: Callable[[], None]) -> None:
        """Ask until every query is settled or a public limit ends it, then close all sessions."""
        on_progress()
        # The first run's answers determine what is due in the others, so this is evaluated each time.
        while any(part.pending(rows) for part, rows in self.due()):
            for part, rows in self.due():
                if not part.advance(rows, peers, lambda _: on_progress()):
                    return
        for part in self.parts():
            part.close(peers)

    def result(self) -> PartedResult:
        """Return the state of the runs."""
        combined = self.combine()
        states = list(combined.parts.values())
        plan = states[0].parse_plan()
        # Rows that repeat another one are not queries of their own.
        first = states[0].first_rows()
        whole = (combined.answers.keys() - combined.partly) & first
        return PartedResult(
            run=self.pool.folder,
            queries=combined.queries,
            asked=len(whole),
            answered=sum(combined.answers[row] is not None for row in whole),
            stopped=next((state.stopped for state in states if state.stopped), None),
            enforce=states[0].enforce,
            bound=states[0].bound,
            encoding=plan.encoding,
            tally=plan.tally,
            ballots=plan.ballots,
            lost=sum(state.count_lost() for state in states),
            left_out=self._collect_left_out(),
            steps=self.pool.switches.meter.steps,
            unguaranteed=tuple(sorted({site for state in states for site in state.unguaranteed})),
            implied=sum(len(labels) for row, labels in combined.implied.items() if row in first),
            partly=len(combined.partly & first),
            repeated=states[0].repeated,
        )

    def _collect_left_out(self) -> Mapping[str, Stop]:
        errors = {site: error for part in self.parts() for site, error in part.left_out.items()}
        return {site: Stop(code=error.code, message=error.message) for site, error in sorted(errors.items())}


def check_kept(folder: Path, own: str, *, same: bool) -> None:
    """Raise `run.mismatch` if a folder contains a run of another kind than that of the file `own`.

    `same` is whether that file, if it exists, matches the current request.
    """
    others = {STATE_FILE, RULES_FILE, SETTINGS_FILE} - {own}
    if not same or any((folder / other).exists() for other in others):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a run without {own.removesuffix('.toml').replace('-', ' ')}, or with others: "
            "repeat its options to resume it, or name another --out folder.",
        )


def as_json(result: PartedResult) -> dict[str, Any]:
    """Return the result as JSON types."""
    return labelling.as_json(result) | {"implied": result.implied, "partly": result.partly}


IMPLIED = "implied"
PARTLY = "partly"
SEPARATOR = ";"


def write_combined(folder: Path, combined: Combined, ids: PoolIds) -> None:
    """Write labels.csv: for every row of the pool its id, labels, status, and which labels were implied.

    A label is 1, 0, or empty if there is no answer. The status is "implied" if some labels have the value of
    their parent, and "partly" if some labels that may be present were not asked.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((ids.name, *combined.classes, "status", IMPLIED))
    table.writerows((name, *row) for name, row in zip(ids.values, _rows(combined), strict=True))
    write_atomic(folder / LABELS_FILE, text.getvalue())


def status(combined: Combined, row: int) -> str:
    """Return a query's status."""
    if row not in combined.answers:
        return UNASKED
    if row in combined.partly:
        return PARTLY
    if combined.answers[row] is None:
        return ABSTAINED
    return IMPLIED if row in combined.implied else ANSWERED


def _rows(combined: Combined) -> Iterator[tuple[object, ...]]:
    rows = range(combined.pool_size)
    labels = label_matrix([combined.answers.get(row) for row in rows], len(combined.classes))
    for row, bits in zip(rows, labels.tolist(), strict=True):
        implied = SEPARATOR.join(combined.classes[label] for label in combined.implied.get(row, ()))
        yield *("" if bit < 0 else bit for bit in bits), status(combined, row), implied
