"""A process that computes the data-dependent costs of batches."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from ostraka.guardian.accounting.smooth_noise import VoteTotal
from ostraka.guardian.sessions.data_dependent import DataDependentCosts

ANSWERS_S = 10.0
"""Time limit for the process's answer: it computes in another thread, but other processes may leave it no
processor.
"""


class Amounts(NamedTuple):
    """The data-dependent cost of a batch to its units, in the order of their keys.

    `totals` are stored for a later publication; empty for bounds other than theorem6.
    """

    spent: tuple[int, ...]
    totals: tuple[VoteTotal, ...] = ()


@dataclass(frozen=True)
class Job:
    """A batch to compute, with a number that the sender counts up."""

    number: int
    costs: DataDependentCosts = field(repr=False)


@dataclass(frozen=True)
class Collect:
    """Asks for all results of jobs up to a number; jobs among them that still wait are dropped.

    With `finish` the reply waits until no job is left.
    """

    last: int
    finish: bool


class Computer:
    """Starts the process and talks to it. Histograms reach it through a pipe and stay in memory.

    The process is spawned, not forked: it shares no memory and no interpreter lock with releases, and has no
    keys.
    """

    def __init__(self, *, gives_way: bool = True) -> None:
        """Start the process, with `gives_way` at the lowest priority."""
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=compute, args=(theirs, gives_way), name="figures", daemon=True)
        self._process.start()
        theirs.close()

    def send(self, job: Job) -> None:
        """Hand over a job; raises OSError if the process is gone."""
        self._connection.send(job)

    def collect(self, last: int, *, finish: bool) -> dict[int, Amounts]:
        """Return the known results of jobs up to number `last`.

        Raises:
            OSError, EOFError: if the process is gone or does not answer; close it then.
        """
        self._connection.send(Collect(last, finish))
        if not (finish or self._connection.poll(ANSWERS_S)):
            raise TimeoutError
        found: dict[int, Amounts] = self._connection.recv()
        return found

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.terminate()
        self._process.join()
        self._connection.close()


class _Desk:
    """Waiting jobs and known amounts, shared by the thread that talks and the thread that computes."""

    def __init__(self) -> None:
        # Guards all attributes below, and wakes whoever waits for a job or for the last job.
        self._changed = threading.Condition()
        self._waiting: deque[Job] = deque()
        self._computing: int | None = None
        self._known: dict[int, Amounts] = {}

    def add(self, job: Job) -> None:
        with self._changed:
            self._waiting.append(job)
            self._changed.notify_all()

    def take(self) -> Job:
        """Take the next job as soon as there is one."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting)
            job = self._waiting.popleft()
            self._computing = job.number
            return job

    def put(self, job: Job, amounts: Amounts) -> None:
        with self._changed:
            self._known[job.number] = amounts
            self._computing = None
            self._changed.notify_all()

    def collect(self, asked: Collect) -> dict[int, Amounts]:
        with self._changed:
            if asked.finish:
                self._changed.wait_for(lambda: not self._waiting and self._computing is None)
            while self._waiting and self._waiting[0].number <= asked.last:
                self._waiting.popleft()
            found = {number: known for number, known in self._known.items() if number <= asked.last}
            self._known = {number: known for number, known in self._known.items() if number > asked.last}
            return found


def compute(connection: Connection, gives_way: bool) -> None:
    """Compute job after job until the guardian is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if gives_way:
        # Before the first job: no job may run at the priority of releases.
        _give_way()
    desk = _Desk()
    threading.Thread(target=_converse, args=(connection, desk), daemon=True).start()
    with threadpool_limits(1, "blas"):
        while True:
            job = desk.take()
            desk.put(job, compute_amounts(job.costs))


def compute_amounts(costs: DataDependentCosts) -> Amounts:
    """Return a batch's data-dependent costs, and the totals to store."""
    spent = tuple(charge.data_dependent for charge in costs.charges())
    return Amounts(spent, costs.vote_totals() if costs.keeps_totals else ())


def _converse(connection: Connection, desk: _Desk) -> None:
    """Take every message at once, so that the guardian never waits for a computation."""
    while True:
        try:
            message: Job | Collect = connection.recv()
        except EOFError:
            os._exit(0)
        if isinstance(message, Job):
            desk.add(message)
        else:
            connection.send(desk.collect(message))


def _give_way() -> None:
    """Run only when nothing else wants the processor, as far as the system allows a process to ask for it."""
    os.nice(19)
    with contextlib.suppress(AttributeError, OSError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
