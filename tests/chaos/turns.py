"""Threads that take turns by a simulated clock: plain blocking code, in an order that a seed decides."""

from __future__ import annotations

import heapq
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol


class Killed(BaseException):
    """Unwinds what a process was doing when it died."""


class Owner(Protocol):
    """A process: its tasks stop when it dies, and wait while it is asleep."""

    alive: bool
    asleep_until: float


@dataclass(order=True)
class _Event:
    time: float
    order: float
    number: int
    act: Callable[[], None] = field(compare=False)


class Task:
    """Work in a separate thread that runs while it has the turn."""

    def __init__(self, turns: Turns, work: Callable[[], Any], owner: Owner | None) -> None:
        self.owner = owner
        self.turn = 0
        self.done = False
        self.killed = False
        self._turns = turns
        self._work = work
        self._go = threading.Lock()
        self._go.acquire()
        threading.Thread(target=self._run, daemon=True).start()

    def resume(self) -> None:
        """Run the task until it waits or is done; called by the scheduler's thread."""
        self.turn += 1
        self._turns.current = self
        self._go.release()
        self._turns.back.acquire()
        self._turns.current = None

    def wait(self) -> None:
        """Give the turn back until `resume`; called by the task's own thread."""
        self._turns.back.release()
        self._go.acquire()
        self.check()

    def check(self) -> None:
        """Raise Killed if the task's process died."""
        if self.killed or (self.owner is not None and not self.owner.alive):
            raise Killed

    def _run(self) -> None:
        self._go.acquire()
        try:
            self.check()
            self._work()
        except Killed:
            pass
        except BaseException as exc:
            self._turns.errors.append(exc)
        finally:
            self.done = True
            self._turns.back.release()


class Turns:
    """The scheduler: events in the order of simulated time; simultaneous events in a fixed order."""

    def __init__(self, draws: random.Random, start: float) -> None:
        self.now = start
        self.current: Task | None = None
        self.back = threading.Lock()
        self.back.acquire()
        self.errors: list[BaseException] = []
        self._draws = draws
        self._events: list[_Event] = []
        self._count = 0
        self._tasks: list[Task] = []

    def at(self, time: float, act: Callable[[], None]) -> None:
        """Call `act` at a time, in the scheduler's thread."""
        self._count += 1
        heapq.heappush(self._events, _Event(max(time, self.now), self._draws.random(), self._count, act))

    def start(self, work: Callable[[], Any], owner: Owner | None = None, delay: float = 0.0) -> Task:
        """Start a task after `delay` seconds."""
        task = Task(self, work, owner)
        self._tasks.append(task)
        self.wake(task, delay)
        return task

    def wake(self, task: Task, delay: float = 0.0) -> None:
        """Resume a task after `delay` seconds, unless something else resumed it before."""
        turn = task.turn

        def act() -> None:
            owner = task.owner
            if task.done or task.turn != turn:
                return
            if owner is not None and owner.alive and owner.asleep_until > self.now:
                self.at(owner.asleep_until, act)
            else:
                task.resume()

        self.at(self.now + delay, act)

    def sleep(self, seconds: float) -> None:
        """Let other tasks run until the clock has advanced by `seconds`."""
        task = self.running()
        self.wake(task, seconds)
        task.wait()

    def running(self) -> Task:
        """Return the task that has the turn."""
        assert self.current is not None
        return self.current

    def run(self, done: Callable[[], bool], until: float) -> None:
        """Run until it is done, the time has come, or a task failed."""
        while self._events and not self.errors and not done():
            if self._events[0].time > until:
                self.now = until
                return
            event = heapq.heappop(self._events)
            self.now = event.time
            try:
                event.act()
            except Exception as exc:
                self.errors.append(exc)

    def stop(self) -> None:
        """Unwind every task."""
        for task in self._tasks:
            task.killed = True
            while not task.done:
                task.resume()


class TurnLock:
    """A lock among tasks, in place of `threading.Lock`."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._held = False
        self._waiting: list[Task] = []

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()

    def acquire(self, blocking: bool = True) -> bool:
        """Take the lock, and wait for its holder if `blocking`; return whether it was taken."""
        while self._held and blocking:
            self._waiting.append(self._turns.running())
            self._turns.running().wait()
        if self._held:
            return False
        self._held = True
        return True

    def release(self) -> None:
        """Release the lock, and wake the tasks that wait for it."""
        self._held = False
        for task in self._waiting:
            self._turns.wake(task)
        self._waiting.clear()
