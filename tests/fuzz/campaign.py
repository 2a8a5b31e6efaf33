"""Inputs by number: each follows only from the seed and its number, and can be repeated on its own."""

from __future__ import annotations

import itertools
import random
import re
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol

import grpc

from ostraka.common.errors import OstrakaError
from ostraka.common.identity import Role
from tests.fuzz.altering import Call, altered, nonsense, random_bytes
from tests.fuzz.calling import NEVER_HONEST, Callers
from tests.fuzz.forging import Forger
from tests.fuzz.meddling import Meddler, Tap
from tests.fuzz.methods import Method

THREADS = 3
"""Threads that send single inputs; one more tampers with sessions."""
RIGHT_SENDER_SHARE = 0.75
SENDERS = {Role.ADMIN: "admin", Role.QUERY: "query", Role.PARTY: "spare", Role.GUARDIAN: "guardian"}


@dataclass
class Tally:
    """Counts of inputs and results; many threads add to it."""

    calls: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    sessions: Counter[str] = field(default_factory=Counter)
    clients: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def inputs(self) -> int:
        """The number of calls made."""
        return self.calls.total()

    def sent(self, kind: str, status: str) -> None:
        """Count a call."""
        with self._lock:
            self.calls[kind] += 1
            self.statuses[status] += 1

    def ended(self, session: str) -> None:
        """Count a session."""
        with self._lock:
            self.sessions[session] += 1

    def lied_to(self, client: str) -> None:
        """Count a lie to a client."""
        with self._lock:
            self.clients[client] += 1

    def found(self, numbers: str, what: str) -> None:
        """Report a problem once, with the inputs that repeat it; numbers in its text do not distinguish
        it."""
        kind = re.sub(r"\d+", "#", what)
        with self._lock:
            self.findings[kind] += 1
            if self.findings[kind] == 1:
                print(f"FOUND, --only {numbers}: {what}", flush=True)


class Numbered(Protocol):
    """Sends inputs by number; `latest` is the current one."""

    tally: Tally
    latest: int

    def run(self, inputs: int, seconds: float) -> None:
        """Send this many inputs, or for this many seconds."""

    def one(self, number: int) -> None:
        """Send the input with this number."""


class Campaign:
    """Sends inputs: even numbers are single calls, odd numbers tamper with a running session."""

    def __init__(
        self,
        seed: int,
        callers: Callers,
        methods: Sequence[Method],
        forger: Forger,
        tap: Tap,
        sessions: Mapping[str, Callable[[], None]],
        repairs: Mapping[str, Callable[[], None]],
    ) -> None:
        """Take the methods to call and the callers, the calls of honest members, and their sessions.

        `repairs` has, by path, what to do after a successful call so that the following calls can succeed.
        """
        self.tally = Tally()
        self.latest = 0
        self._seed = seed
        self._callers = callers
        self._methods = methods
        self._forger = forger
        self._tap = tap
        self._sessions = sessions
        self._repairs = repairs

    def run(self, inputs: int, seconds: float) -> None:
        """Send this many inputs, or for this many seconds."""
        until = time.monotonic() + seconds

        def go_on() -> bool:
            return self.tally.inputs < inputs and time.monotonic() < until

        def work(numbers: Iterator[int]) -> None:
            for number in numbers:
                if not go_on():
                    return
                self.one(number)

        singles = itertools.count(0, 2)
        with ThreadPoolExecutor(THREADS + 1) as pool:
            begun = [pool.submit(work, singles) for _ in range(THREADS)]
            if self._sessions:
                begun.append(pool.submit(work, itertools.count(1, 2)))
            for future in begun:
                future.result()

    def one(self, number: int) -> None:
        """Send the input with this number."""
        self.latest = number
        draws = random.Random(f"{self._seed}:{number}")  # noqa: S311
        if number % 2:
            self._session(number, draws)
        else:
            self.send(number, self._single(draws))

    def send(self, number: int, call: Call) -> None:
        """Make a call, and check its result.

        A call that takes too long is repeated: on a busy machine any call may be slow, but hardly twice. So
        is a cancelled call: a later call of the same kind, by the same member, ends the one before it.
        """
        outcome = self._callers.send(call)
        if outcome.status is grpc.StatusCode.DEADLINE_EXCEEDED or (
            outcome.status is grpc.StatusCode.CANCELLED and call.ending == "closed"
        ):
            outcome = self._callers.send(call)
        said = outcome.reason or outcome.status.name
        self.tally.sent(call.kind, said)
        if outcome.status is grpc.StatusCode.OK and call.method.path in self._repairs:
            self._repairs[call.method.path]()
        problem = self._callers.problem(call, outcome)
        if problem is not None:
            self.tally.found(
                str(number), f"{call.method.server}{call.method.path} by {call.sender}: {problem}"
            )

    def _single(self, draws: random.Random) -> Call:
        method = draws.choice(self._methods)
        kept = self._tap.kept.get((method.server, method.path), [])
        example = draws.choice(kept) if kept else None
        sender = self._sender(method, example, draws)
        what = draws.random()
        if what < 0.2:
            return random_bytes(method, sender, draws)
        if what < 0.5 or example is None:
            return nonsense(method, sender, draws, self._forger)
        call = Call(method, sender, example.messages)
        return altered(call, draws, self._forger)

    def _sender(self, method: Method, example: Call | None, draws: random.Random) -> str:
        if draws.random() > RIGHT_SENDER_SHARE:
            return draws.choice(sorted(self._callers.members))
        if example is not None and draws.random() < 0.5:
            return example.sender
        roles = sorted(method.roles & SENDERS.keys()) or sorted(SENDERS)
        return SENDERS[draws.choice(roles)]

    def _session(self, number: int, draws: random.Random) -> None:
        name = draws.choice(sorted(self._sessions))
        members = tuple(sorted(self._callers.members))
        self._tap.meddler = Meddler(
            f"{self._seed}:{number}", self._forger, members, lambda call: self.send(number, call)
        )
        ended = "whole"
        try:
            self._sessions[name]()
        except OstrakaError as error:
            ended = str(error.code)
            if error.code in NEVER_HONEST:
                self.tally.found(
                    str(number), f"an honest session ({name}) ended with {error.code}: {error.message}"
                )
        except Exception as error:
            ended = type(error).__name__
            place = traceback.extract_tb(error.__traceback__)[-1]
            self.tally.found(str(number), f"an honest session ({name}) ended with {error!r} at {place}")
        finally:
            self._tap.meddler = None
        self.tally.ended(f"{name}: {ended}")
