"""Messages between simulated processes: lost, duplicated, late or reordered."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Protocol

from ostraka.common.errors import OstrakaError
from tests.chaos.faults import CALL_TIMEOUT_S, LATENCY_S, Faults
from tests.chaos.turns import Owner, Turns


class UnreachableError(Exception):
    """No reply came in time, or no process was running."""


class Process(Owner, Protocol):
    """A process that serves calls by the names of its methods."""


Reply = tuple[Any, OstrakaError | None]


class Network:
    """Delivers calls to the process that is at an address when they arrive."""

    def __init__(
        self, turns: Turns, draws: random.Random, faults: Faults, log: Callable[[str], None]
    ) -> None:
        self.at: dict[str, Process] = {}
        self.faults = faults
        self._turns = turns
        self._draws = draws
        self._log = log

    def call(self, address: str, method: str, *args: Any, timeout: float = CALL_TIMEOUT_S) -> Any:
        """Return the reply of the process at `address`; raise its refusal, or UnreachableError."""
        caller = self._turns.running()
        turn, replies = caller.turn, list[Reply]()

        def reply(answer: Reply) -> None:
            if self._chance(self.faults.lost):
                return

            def arrive() -> None:
                if caller.turn == turn and not replies:
                    replies.append(answer)
                    self._turns.wake(caller)

            self._turns.at(self._turns.now + self._latency(), arrive)

        for copy in range(1 + self._chance(self.faults.doubled)):
            if copy or not self._chance(self.faults.lost):
                self._deliver(address, method, args, reply)
        self._turns.sleep(timeout)
        if not replies:
            raise UnreachableError(f"{method} at {address}")
        value, error = replies[0]
        if error is not None:
            raise error
        return value

    def _deliver(
        self, address: str, method: str, args: tuple[Any, ...], reply: Callable[[Reply], None]
    ) -> None:
        def arrive() -> None:
            process = self.at.get(address)
            if process is not None and process.alive:
                self._turns.start(lambda: reply(self._served(process, method, args)), process)

        self._turns.at(self._turns.now + self._latency(), arrive)

    def _served(self, process: Process, method: str, args: tuple[Any, ...]) -> Reply:
        try:
            answer: Reply = getattr(process, method)(*args), None
        except OstrakaError as exc:
            answer = None, exc
        error = answer[1]
        self._log(f"  {method}{_short(args)} -> {'ok' if error is None else error.code}")
        return answer

    def _latency(self) -> float:
        if self._chance(self.faults.late):
            return self._draws.uniform(0, 60)
        return self._draws.expovariate(1 / LATENCY_S)

    def _chance(self, probability: float) -> bool:
        return self._draws.random() < probability


def _short(args: tuple[Any, ...]) -> str:
    named = [str(arg)[:8] for arg in args if isinstance(arg, str | int)]
    return f"({', '.join(named)})"
