"""Figures of batches are stored on a public schedule: how long they took to compute shows nowhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import psutil
import pytest

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import BOUND, GnMax
from ostraka.common.plan.plan import Plan
from ostraka.guardian.accounting.smooth_noise import VoteTotal
from ostraka.guardian.figures import Figures, computing
from ostraka.guardian.figures.figures import MAX_COUNTS, PERIOD_S
from ostraka.guardian.figures.process import Amounts, Computer, Job
from ostraka.guardian.ledger import Charge, UnitKey
from ostraka.guardian.sessions.data_dependent import DataDependentCosts
from ostraka.guardian.sessions.payers import payers
from tests.guardian.sessions.people import budget, cohort, everybody

UNIT = UnitKey("a", "all", "record")
WORST, KNOWN = 100, 7
Stored = tuple[int, Mapping[UnitKey, int]]


def costs(queries: int = 2, bound: BOUND = "exact") -> DataDependentCosts:
    """Of one unit, whose ten teachers agree."""
    plan = Plan(
        nonce=bytes(16),
        task_digest=bytes(32),
        classes=3,
        mechanism=GnMax(sigma=3),
        parties=("a", "b"),
        quorum=2,
        queries=queries,
        batch_size=queries,
    )
    attendance = everybody([cohort("a", "all")], queries)
    sums = np.zeros((queries, 3), dtype=np.uint64)
    sums[:, 0] = attendance.totals()
    return DataDependentCosts(
        plan=plan,
        bound=bound,
        payers=tuple(payers(plan, attendance, {UNIT: budget(*UNIT)})),
        sums=sums,
        scores=None,
        totals=attendance.totals(),
        voters=10,
        answered=np.ones((queries, 1), dtype=np.bool_),
        labels=np.zeros((queries, 1), dtype=np.int64),
    )


@dataclass
class Store:
    """Keeps what is stored, or refuses it."""

    stored: list[Stored] = field(default_factory=list)
    kept: list[Mapping[UnitKey, bytes]] = field(default_factory=list)
    refused: set[int] = field(default_factory=set)

    def __call__(
        self,
        session_id: str,
        batch_id: int,
        figures: Mapping[UnitKey, int],
        totals: Mapping[UnitKey, bytes],
    ) -> None:
        if batch_id in self.refused:
            raise OstrakaError(ErrorCode.SESSION_ELSEWHERE, "It is served elsewhere.")
        self.stored.append((batch_id, dict(figures)))
        self.kept.append(dict(totals))


@dataclass
class FakeComputer:
    """Has computed the jobs that a test says, whenever it is asked."""

    done: set[int] = field(default_factory=set)
    sent: list[int] = field(default_factory=list)
    finished: bool = False
    closed: bool = False
    broken: bool = False

    totals: dict[int, tuple[VoteTotal, ...]] = field(default_factory=dict)

    def send(self, job: Job) -> None:
        if self.broken:
            raise BrokenPipeError
        self.sent.append(job.number)
        self.totals[job.number] = job.costs.vote_totals() if job.costs.keeps_totals else ()

    def collect(self, last: int, *, finish: bool) -> dict[int, Amounts]:
        if self.broken:
            raise EOFError
        self.finished = self.finished or finish
        known = {number for number in self.sent if finish or number in self.done}
        return {number: self._amounts(number) for number in known if number <= last}

    def _amounts(self, number: int) -> Amounts:
        return Amounts((KNOWN,), self.totals[number])

    def close(self) -> None:
        self.closed = True


class Bench:
    """Figures over a store, a computer and a clock of the test's own; its ticks are the test's."""

    def __init__(self, *, finish: bool = False) -> None:
        self.clock = ManualClock(0.0)
        self.store, self.computers = Store(), [FakeComputer()]
        self.figures = Figures(self.store, finish=finish, monotonic=self.clock.now, computer=self._start)

    @property
    def computer(self) -> FakeComputer:
        return self.computers[-1]

    def _start(self) -> Computer:
        if self.computer.broken:
            self.computers.append(FakeComputer())
        return cast(Computer, self.computer)

    def add(self, batch: int, queries: int = 2) -> None:
        self.figures.add("s", batch, [Charge(UNIT, WORST, WORST)], costs(queries))

    def tick(self, after_s: float = 1.0) -> list[Stored]:
        """Return what is stored by one tick `after_s` later."""
        before = len(self.store.stored)
        self.clock.advance(after_s)
        self.figures.tick()
        return self.store.stored[before:]


@pytest.mark.parametrize(("done", "figure"), [({1}, KNOWN), (set(), WORST)])
def test_a_batch_is_stored_at_the_same_time_whether_it_is_computed_or_not(
    done: set[int], figure: int
) -> None:
    bench = Bench()
    bench.computer.done = done
    bench.add(1)
    assert bench.tick() == []
    assert bench.tick(PERIOD_S) == []
    assert bench.tick(PERIOD_S - 2) == []
    assert bench.tick(2) == [(1, {UNIT: figure})]
    assert bench.tick(PERIOD_S) == []


def test_a_batch_goes_to_the_process_at_the_next_tick_and_is_forgotten_here() -> None:
    bench = Bench()
    bench.add(1)
    assert bench.computer.sent == []
    bench.tick()
    bench.add(2)
    bench.tick()
    assert bench.computer.sent == [1, 2]


def test_so_many_counts_are_taken_in_a_period_whatever_is_computed_by_then() -> None:
    bench = Bench()
    bench.computer.done = {1, 2, 3, 4}
    half = MAX_COUNTS // 6
    for batch in (1, 2, 3):
        bench.add(batch, half)
        bench.tick()
    assert len(bench.computer.sent) == 2
    bench.tick(PERIOD_S)
    bench.add(4)
    assert [batch for batch, _ in bench.tick(2 * PERIOD_S)] == [1, 2]
    bench.tick(PERIOD_S)
    assert [batch for batch, _ in bench.tick(PERIOD_S)] == [4]


def test_what_the_ledger_refuses_is_left_at_the_worst_case() -> None:
    bench = Bench()
    bench.computer.done, bench.store.refused = {1, 2}, {1}
    bench.add(1)
    bench.add(2)
    bench.tick()
    bench.tick(PERIOD_S)
    assert bench.tick(PERIOD_S) == [(2, {UNIT: KNOWN})]


@pytest.mark.parametrize(("finish", "figures"), [(True, [KNOWN, KNOWN]), (False, [KNOWN, WORST])])
def test_the_end_waits_for_the_rest_only_where_it_may_tell(finish: bool, figures: list[int]) -> None:
    bench = Bench(finish=finish)
    bench.computer.done = {1}
    bench.add(1)
    bench.tick()
    bench.add(2)
    bench.figures.close()
    assert bench.store.stored == [(1, {UNIT: figures[0]}), (2, {UNIT: figures[1]})]
    assert (bench.computer.finished, bench.computer.closed) == (finish, True)


def test_a_process_that_is_gone_costs_its_batches_their_figures_and_no_more() -> None:
    bench = Bench()
    bench.add(1)
    bench.tick()
    bench.computer.broken = True
    bench.add(2)
    bench.tick()
    bench.add(3)
    bench.tick()
    bench.computer.done = {3}
    bench.tick(PERIOD_S)
    stored = bench.tick(PERIOD_S)
    assert stored == [(1, {UNIT: WORST}), (2, {UNIT: WORST}), (3, {UNIT: KNOWN})]
    assert [computer.closed for computer in bench.computers] == [True, False]


def test_nothing_is_started_where_no_batch_asks() -> None:
    figures = Figures(Store(), computer=lambda: pytest.fail("a process was started"))
    figures.close()


@pytest.mark.parametrize("done", [{1}, set()])
def test_what_is_kept_has_one_length_whether_it_is_computed_or_not(done: set[int]) -> None:
    bench = Bench()
    bench.computer.done = done
    asked = costs(bound="theorem6")
    bench.figures.add("s", 1, [Charge(UNIT, WORST, WORST)], asked)
    bench.tick()
    bench.tick(PERIOD_S)
    bench.tick(PERIOD_S)
    (kept,) = bench.store.kept
    total = VoteTotal.from_bytes(kept[UNIT])
    assert len(kept[UNIT]) == len(asked.vote_totals()[0].to_bytes())
    assert total == (asked.vote_totals()[0] if done else VoteTotal.of_worst_case(total.order, WORST))


def test_nothing_is_kept_of_votes_that_no_epsilon_is_published_from() -> None:
    bench = Bench(finish=True)
    bench.add(1)
    bench.figures.close()
    assert bench.store.kept == [{}]


@pytest.mark.heavy
@pytest.mark.parametrize("bound", ["exact", "theorem6"])
def test_the_process_computes_what_this_one_would(bound: BOUND) -> None:
    store = Store()
    asked = costs(bound=bound)
    with computing(store, finish=True) as figures:
        figures.add("s", 1, [Charge(UNIT, WORST, WORST)], asked)
    (charge,) = asked.charges()
    assert store.stored == [(1, {UNIT: charge.data_dependent})]
    kept = [total.to_bytes() for total in asked.vote_totals()] if bound == "theorem6" else []
    assert [*store.kept[0].values()] == kept
    assert charge.data_dependent > 0


@pytest.mark.heavy
def test_the_process_answers_while_it_computes_and_gives_up_what_is_overdue() -> None:
    computer = Computer()
    try:
        for number in (1, 2, 3):
            computer.send(Job(number, costs(4_000)))
        assert set(computer.collect(2, finish=False)) <= {1, 2}
        assert set(computer.collect(3, finish=False)) <= {3}
        computer.send(Job(4, costs()))
        assert 4 in computer.collect(4, finish=True)
    finally:
        computer.close()


@pytest.mark.heavy
@pytest.mark.parametrize("gives_way", [True, False])
def test_the_process_gives_way_unless_somebody_waits_for_it(gives_way: bool) -> None:
    before = {child.pid for child in psutil.Process().children()}
    computer = Computer(gives_way=gives_way)
    try:
        # What it answers it has said after it chose its priority.
        computer.collect(0, finish=True)
        (child,) = [
            one
            for one in psutil.Process().children()
            if one.pid not in before and "spawn_main" in " ".join(one.cmdline())
        ]
        assert (child.nice() > psutil.Process().nice()) == gives_way
    finally:
        computer.close()
