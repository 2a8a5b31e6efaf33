"""Taps honest clients: records what they send, and tampers with their running sessions."""

from __future__ import annotations

import random
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from ostraka.common.rpc import channel
from ostraka.common.rpc.watcher import Target, Watcher
from tests.fuzz.altering import Call, altered
from tests.fuzz.forging import Forger
from tests.fuzz.methods import Method
from tests.fuzz.recording import Recorder

KEPT = 12
"""Number of honest calls kept for each method."""
MEDDLED_SHARE = 0.4
"""Share of the calls of a running session before which altered calls are sent."""
MOST_AT_ONCE = 60
EARLIER_SHARE = 0.15
"""How often an earlier call of the session is altered and sent again, out of order."""
TRUE_SENDER_SHARE = 0.8


class Meddler:
    """Sends altered calls before the honest calls of one session; `seed` determines them."""

    def __init__(
        self, seed: str, forger: Forger, members: tuple[str, ...], send: Callable[[Call], object]
    ) -> None:
        """Take the members that may send, and the function that sends a call."""
        self._seed = seed
        self._forger = forger
        self._members = members
        self._send = send
        self._calls: Counter[tuple[str, str]] = Counter()
        self._earlier: list[Call] = []
        self._lock = threading.Lock()
        self._meddling = threading.Lock()

    def before(self, call: Call) -> None:
        """Send altered calls, unless an altered call caused this one.

        None goes to the server that is making the call: it may be waiting for the result of this call.
        """
        where = call.method.server, call.method.path
        with self._lock:
            self._calls[where] += 1
            number = self._calls[where]
            earlier = tuple(one for one in self._earlier if one.method.server != call.sender)
            self._earlier.append(call)
        draws = random.Random(f"{self._seed}:{where}:{number}")  # noqa: S311
        if draws.random() < MEDDLED_SHARE and self._meddling.acquire(blocking=False):
            try:
                self._meddle(call, earlier, draws)
            finally:
                self._meddling.release()

    def _meddle(self, call: Call, earlier: tuple[Call, ...], draws: random.Random) -> None:
        for _ in range(draws.randint(1, MOST_AT_ONCE)):
            chosen = draws.choice(earlier) if earlier and draws.random() < EARLIER_SHARE else call
            if draws.random() > TRUE_SENDER_SHARE:
                rival = replace(chosen, sender=draws.choice(self._members), kind="another's")
                self._send(rival if draws.random() < 0.5 else altered(rival, draws, self._forger))
            else:
                self._send(altered(chosen, draws, self._forger))


class Tap:
    """Sees every call that honest clients of this process make, and lets a meddler act on it."""

    def __init__(self) -> None:
        """Keep nothing yet, and let calls pass unchanged."""
        self.kept: dict[tuple[str, str], list[Call]] = defaultdict(list)
        self.recorder = Recorder()
        self.meddler: Meddler | None = None
        self._methods: dict[tuple[str, str], Method] = {}
        self._servers: dict[str, str] = {}
        self._members: dict[str, str] = {}

    def learn(self, methods: list[Method], servers: dict[str, str], members: dict[str, str]) -> None:
        """Take the methods, the servers' names by address, and the members' by identity."""
        self._methods = {(method.server, method.path): method for method in methods}
        self._servers, self._members = servers, members

    @contextmanager
    def tapping(self) -> Iterator[None]:
        """Tap the channels that are opened within the block."""
        tap = self

        class TappedWatcher(Watcher):
            """Shows every call before it is made."""

            def __init__(self, target: Target, metadata: tuple[tuple[str, str], ...]) -> None:
                super().__init__(target, metadata)
                self._to = target

            def _one(self, continuation: Callable[..., Any], details: Any, request: Any) -> Any:
                sender = tap.observe(self._to, details.method, [request])
                return tap.follow(
                    sender, details.method, [request], self._call(continuation, details, request)
                )

            def _many(self, continuation: Callable[..., Any], details: Any, requests: Any) -> Any:
                messages = list(requests)
                sender = tap.observe(self._to, details.method, messages)
                call = self._call(continuation, details, iter(messages))
                return tap.follow(sender, details.method, messages, call)

            intercept_unary_unary: Any = _one
            intercept_unary_stream: Any = _one
            intercept_stream_unary: Any = _many
            intercept_stream_stream: Any = _many

        with mock.patch.object(channel, "Watcher", TappedWatcher):
            yield

    def observe(self, to: Target, path: str, messages: list[Any]) -> str | None:
        """Note an honest call before it is made, and return its sender, if known."""
        server = self._servers.get(to.address, "")
        method = self._methods.get((server, path if isinstance(path, str) else path.decode()))
        sender = None if to.credentials is None else self._members.get(to.credentials.identity.uri)
        if method is None or sender is None:
            return None
        call = Call(method, sender, tuple(message.SerializeToString() for message in messages))
        kept = self.kept[server, method.path]
        if self.meddler is None:
            if len(kept) < KEPT:
                kept.append(call)
        else:
            self.meddler.before(call)
        return sender

    def follow(self, sender: str | None, path: str, messages: list[Any], call: Any) -> Any:
        """Return an honest call, which is recorded unless somebody tampers with it."""
        if sender is None or self.meddler is not None:
            return call
        return self.recorder.following(
            path if isinstance(path, str) else path.decode(), sender, messages, call
        )
