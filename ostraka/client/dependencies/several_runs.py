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
        asked: the records, and the queries that stand for them.
        planner: makes the plan of all labels.
        switches: how sessions have queries voted on and votes tallied.
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
        """Read a pool, and plan the runs over it, the `first` of which has this name, as a site's task says.

        Raises as `labelling.label`.
        """
        site = load_query_site(site_folder)
        task = load_class_task("labelling", site_folder, task_file)
        asked = AskedPool.load(task, pool, options.mechanism, folder / first)
        planner = run_planner(site, task, asked.count_queries(options), len(asked), run.clock, run.retry)
        return cls(folder, asked, planner, run.switches())

    @cached_property
    def sent(self) -> NDArray[np.float32]:
        """What is sent of the queries, made once."""
        return self.planner.encode(self.asked.queries)


class PartialRun:
    """One run, made when it is first asked something."""

    def __init__(
        self, pool: Pool, name: str, labels: tuple[str, ...], mechanism: Mechanism | None = None
    ) -> None:
        """Take the sub-folder's `name`, the `labels` that are asked about, and their own mechanism, if any.

        A run found there goes on; raises `run.mismatch` where it is for another pool, task or plan.
        """
        self.name = name
        self._pool = pool
        self._labels = labels
        self._mechanism = mechanism or pool.planner.options.mechanism
        self._session: SessionDriver | None = None
        self._store = self._open() if (pool.folder / name / STATE_FILE).exists() else None

    @property
    def made(self) -> bool:
        """Whether there is a run yet."""
        return self._store is not None

    @property
    def store(self) -> RunStore:
        """The run's store, made if there was none."""
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
        """Planner of only the labels of this run."""
        planner = self._pool.planner
        mechanism = self._mechanism.narrowed(len(self._labels))
        chosen = {"mechanism": mechanism, "labels": self._labels}
        return replace(planner, options=planner.options.model_copy(update=chosen))

    def pending(self, rows: Iterable[int]) -> set[int]:
        """Which of the given queries are not settled."""
        return set(rows) - self.answers.keys()

    def advance(self, rows: Iterable[int], peers: Peers, on_progress: Callable[[RunState], None]) -> bool:
        """Ask one batch of the given rows that are pending; return False where a public limit ended it."""
        pending = self.pending(rows)
        if not pending:
            return True
        if self._session is None:
            queries = Queries(self._pool.sent)
            self._session = SessionDriver.open(peers, self.store, queries, on_progress, self._pool.switches)
        return self._session.advance(pending)

    def close(self, peers: Peers) -> None:
        """End the session unless it has ended."""
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
    """What the runs have come to; a query counts as asked once nothing of it is left to ask.

    Attributes:
        implied: labels that have the value of their parent, and that nobody was asked about.
        partly: queries of which some labels were asked and others are still to be.
    """

    implied: int = 0
    partly: int = 0


class SeveralRuns(ABC):
    """Drives several runs over one pool and asks the run `first` before the other runs."""

    def __init__(self, pool: Pool, first: PartialRun) -> None:
        """Take the pool and the run that leads; runs found in the pool's folder go on."""
        self.pool = pool
        self.first = first

    @abstractmethod
    def due(self) -> Iterator[tuple[PartialRun, Collection[int]]]:
        """Every run with the rows that it is to ask, in their order."""

    @abstractmethod
    def parts(self) -> list[PartialRun]:
        """Return the runs that exist, the leading run first."""

    @abstractmethod
    def combine(self) -> Combined:
        """Return what is known."""

    @property
    def plan(self) -> Plan:
        """The plan of the labels that are asked first."""
        return self.first.store.state.parse_plan()

    def check(self) -> None:
        """Raise `budget.too_small`, before anything is asked, where budgets pay for no query."""
        if not self.first.made:
            self.first.planner.check()

    def label(self, on_progress: Callable[[PartedResult], None]) -> PartedResult:
        """Ask what is left to ask; labels.csv is brought up to date however this ends."""
        planner = self.pool.planner
        try:
            with connect(planner.site, self.plan.parties, planner.clock, planner.retry) as peers:
                self.run(peers, lambda: on_progress(self.result()))
        finally:
            write_combined(self.pool.folder, self.combine(), self.pool.asked.ids)
        return self.result()

    def run(self, peers: Peers, on_progress: Callable[[], None]) -> None:
        """Ask until every query is settled or a public limit ends it, and close what is done."""
        on_progress()
        # Answers of the first run decide what is due in the others, so that this is asked anew each time.
        while any(part.pending(rows) for part, rows in self.due()):
            for part, rows in self.due():
                if not part.advance(rows, peers, lambda _: on_progress()):
                    return
        for part in self.parts():
            part.close(peers)

    def result(self) -> PartedResult:
        """Return the outcome of the runs."""
        combined = self.combine()
        states = list(combined.parts.values())
        plan = states[0].parse_plan()
        # Rows that repeat another are not queries of their own.
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
    """Raise `run.mismatch` where a folder holds a run of another kind than the file `own` stands for.

    `same` is whether that file, if it is there, says what is asked for now.
    """
    others = {STATE_FILE, RULES_FILE, SETTINGS_FILE} - {own}
    if not same or any((folder / other).exists() for other in others):
        raise OstrakaError(
            ErrorCode.RUN_MISMATCH,
            f"{folder} holds a run without {own.removesuffix('.toml').replace('-', ' ')}, or with others: "
            "repeat its options to resume it, or name another --out folder.",
        )


def as_json(result: PartedResult) -> dict[str, Any]:
    """Return the result in JSON's types."""
    return labelling.as_json(result) | {"implied": result.implied, "partly": result.partly}


IMPLIED = "implied"
PARTLY = "partly"
SEPARATOR = ";"


def write_combined(folder: Path, combined: Combined, ids: PoolIds) -> None:
    """Write labels.csv: for every row of the pool its id, its labels, its status, and which were implied.

    A label is 1, 0, or empty where there is no answer. The status is "implied" where some have the
    value of their parent, and "partly" where some were not asked that may be present.
    """
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((ids.name, *combined.classes, "status", IMPLIED))
    table.writerows((name, *row) for name, row in zip(ids.values, _rows(combined), strict=True))
    write_atomic(folder / LABELS_FILE, text.getvalue())


def status(combined: Combined, row: int) -> str:
    """Return what became of a query."""
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
