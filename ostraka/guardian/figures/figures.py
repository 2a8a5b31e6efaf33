"""Data-dependent costs of released batches, stored on a public schedule."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import structlog

from ostraka.common.errors import OstrakaError
from ostraka.guardian.accounting.smooth_noise import VoteTotal
from ostraka.guardian.figures.process import Amounts, Computer, Job
from ostraka.guardian.ledger import Charge, UnitKey
from ostraka.guardian.sessions.data_dependent import DataDependentCosts

PERIOD_S = 600.0
"""How often costs are stored. A batch has at least this long to be computed, and at most twice as long."""
TICK_S = 1.0
"""How often batches go to the computing process; their answers have left by then."""
MAX_COUNTS = 4_000_000
"""Largest number of histogram counts that one period takes: 32 MB. Further batches keep the worst case."""


Store = Callable[[str, int, Mapping[UnitKey, int], Mapping[UnitKey, bytes]], None]
"""Replaces the recorded data-dependent cost of a released batch, by session and id; stores its totals."""


@contextmanager
def computing(store: Store, *, finish: bool = False) -> Iterator[Figures]:
    """Compute costs of batches that are added within the block; close at its end.

    With `finish`, the end waits until all are computed.
    """
    # With `finish` somebody waits for this process, so it must not have the lowest priority: on a busy
    # machine that gets no processor. Only a guardian whose times may reveal votes uses `finish`, so the
    # priority hides nothing there.
    figures = Figures(store, finish=finish, computer=partial(Computer, gives_way=not finish))
    done = threading.Event()

    def tick() -> None:
        while not done.wait(TICK_S):
            figures.tick()

    thread = threading.Thread(target=tick, name="figures", daemon=True)
    thread.start()
    try:
        yield figures
    finally:
        done.set()
        thread.join()
        figures.close()


@dataclass(frozen=True)
class _ReleasedBatch:
    """A released batch, with the amounts that it was charged.

    `orders` are the orders of its units' budgets if their totals are kept, else empty.
    """

    number: int
    session_id: str
    batch_id: int
    charged: Mapping[UnitKey, int]
    orders: Mapping[UnitKey, float]

    def figures(self, known: Mapping[int, Amounts]) -> Mapping[UnitKey, int]:
        """Return the costs to store for the batch: the charged amounts if nothing is known."""
        if self.number not in known:
            return self.charged
        return dict(zip(self.charged, known[self.number].spent, strict=True))

    def totals(self, known: Mapping[int, Amounts]) -> Mapping[UnitKey, bytes]:
        """Return the totals to store for each unit, of the same length if nothing is known."""
        totals = [VoteTotal.of_worst_case(order, self.charged[unit]) for unit, order in self.orders.items()]
        found = known[self.number].totals if self.number in known else totals
        return {unit: total.to_bytes() for unit, total in zip(self.orders, found, strict=True)}


class Figures:
    """Takes released batches, has them computed, and stores their data-dependent costs.

    Nothing that is visible outside depends on the time of a computation. Batches are handed to a process of
    the lowest priority at whole seconds. At the end of every period, all batches that were handed over before
    the period began are stored in the same way; a batch that is not computed is stored with its charged worst
    case. A batch that is not stored by the end keeps the worst case.
    """

    def __init__(
        self,
        store: Store,
        *,
        finish: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
        computer: Callable[[], Computer] = Computer,
    ) -> None:
        """Start nothing yet. With `finish`, `close` waits until every batch is computed."""
        self._store = store
        self._finish = finish
        self._monotonic = monotonic
        self._start = computer
        self._computer: Computer | None = None
        # Releases add batches and counts from their threads while the timer's thread takes them.
        self._lock = threading.Lock()
        self._taken = 0
        self._counts = 0
        self._added: list[tuple[_ReleasedBatch, DataDependentCosts]] = []
        self._sent: list[_ReleasedBatch] = []
        self._due: list[_ReleasedBatch] = []
        self._period_ends = monotonic() + PERIOD_S

    def add(
        self, session_id: str, batch_id: int, charges: Sequence[Charge], costs: DataDependentCosts
    ) -> None:
        """Take a charged batch; return at once. Only the amount taken so far decides what is left out."""
        charged = {charge.unit: charge.data_dependent for charge in charges}
        with self._lock:
            # Counted whether or not it is taken: what is left out depends on sizes alone.
            self._counts += costs.sums.size
            if self._counts > MAX_COUNTS:
                return
            self._taken += 1
            batch = _ReleasedBatch(self._taken, session_id, batch_id, charged, _orders(costs))
            self._added.append((batch, costs))

    def tick(self) -> None:
        """Store the due batches at the end of a period, and hand over new ones."""
        if self._monotonic() >= self._period_ends:
            self._end_period()
        self._hand_over()

    def close(self) -> None:
        """Store what is known by now, or with `finish` everything, and end the process."""
        self._hand_over()
        self._store_all([*self._due, *self._sent], finish=self._finish)
        if self._computer is not None:
            self._computer.close()

    def _hand_over(self) -> None:
        with self._lock:
            added = self._added
            self._added = []
        for batch, costs in added:
            self._send(Job(batch.number, costs))
            self._sent.append(batch)

    def _end_period(self) -> None:
        while self._monotonic() >= self._period_ends:
            self._period_ends += PERIOD_S
        # Only batches from before this period began: each had a whole period to be computed.
        self._store_all(self._due, finish=False)
        self._due = self._sent
        self._sent = []
        with self._lock:
            self._counts = 0

    def _send(self, job: Job) -> None:
        try:
            self._computer = self._computer or self._start()
            self._computer.send(job)
        except OSError:
            self._lose()

    def _store_all(self, batches: Sequence[_ReleasedBatch], *, finish: bool) -> None:
        known = self._collect(batches[-1].number, finish=finish) if batches else {}
        for batch in batches:
            try:
                figures = batch.figures(known)
                totals = batch.totals(known)
                self._store(batch.session_id, batch.batch_id, figures, totals)
            except OstrakaError as exc:
                structlog.get_logger().warning("figures.not_stored", code=exc.code, reason=exc.message)

    def _collect(self, last: int, *, finish: bool) -> Mapping[int, Amounts]:
        if self._computer is None:
            return {}
        try:
            return self._computer.collect(last, finish=finish)
        except (EOFError, OSError):
            self._lose()
            return {}

    def _lose(self) -> None:
        """Continue without the lost process; the next batch starts another."""
        structlog.get_logger().error("figures.process_lost")
        if self._computer is not None:
            self._computer.close()
        self._computer = None


def _orders(costs: DataDependentCosts) -> Mapping[UnitKey, float]:
    """Return the orders of the budgets of units whose totals are kept, in the order of their keys."""
    budgets = [payer.budget for payer in costs.payers] if costs.keeps_totals else []
    return {budget.key: budget.order for budget in sorted(budgets, key=lambda budget: budget.key)}
