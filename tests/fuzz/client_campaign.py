"""Lies to real clients by number: each follows only from the seed and its number, and can be repeated."""

from __future__ import annotations

import random
import time
import traceback
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import grpc

from ostraka.common.errors import ErrorCode, OstrakaError
from tests.fuzz.campaign import Tally
from tests.fuzz.clients import ATTEMPTS, DEADLINE_S, Client, PatienceError, Waits
from tests.fuzz.forging import Forger
from tests.fuzz.liar import Liar
from tests.fuzz.lying import Lie, lie

SLACK_S = 15.0
"""How much longer than all its attempts a call may take on a busy machine."""
LONGEST_S = 2 * ATTEMPTS * DEADLINE_S + SLACK_S


class ClientCampaign:
    """Lets one client after the other make its call to a server that lies."""

    def __init__(
        self,
        seed: int,
        clients: Sequence[Client],
        liars: Mapping[str, Liar],
        forger: Forger,
        waits: Waits,
    ) -> None:
        """Take the clients, the liars by server, the forger with their keys, and the waits to replace."""
        self.tally = Tally()
        self.latest = 0
        self._seed = seed
        self._clients = clients
        self._weights = {client.name: client.weight for client in sorted(clients, key=lambda one: one.name)}
        self._places: dict[str, list[int]] = defaultdict(list)
        for place, client in enumerate(clients):
            self._places[client.name].append(place)
        self._liars = liars
        self._forger = forger
        self._waits = waits
        self._genuine: dict[int, Any] = {}

    def rehearse(self) -> None:
        """Serve every client honestly once.

        Raises:
            OstrakaError: a client refused an honest answer.
        """
        for place, client in enumerate(self._clients):
            self._answer(client, Lie(client.honest))
            self._waits.told.clear()
            self._genuine[place] = client.call()

    def run(self, inputs: int, seconds: float) -> None:
        """Tell this many lies, or for this many seconds."""
        until = time.monotonic() + seconds
        number = 0
        while self.tally.inputs < inputs and time.monotonic() < until:
            self.one(number)
            number += 1

    def one(self, number: int) -> None:
        """Tell the lie with this number, and check its result."""
        self.latest = number
        draws = random.Random(f"{self._seed}:{number}")  # noqa: S311
        # By name first: the number of recorded calls per name differs from run to run.
        (name,) = draws.choices(tuple(self._weights), tuple(self._weights.values()))
        place = draws.choice(self._places[name])
        client = self._clients[place]
        self.tell(number, place, lie(client.method, client.honest, draws, self._forger))

    def place_of(self, name: str) -> int:
        """Return the first client of a name."""
        return self._places[name][0]

    def honest(self, place: int) -> tuple[bytes, ...]:
        """Return the honest answer to the client at this place."""
        return self._clients[place].honest

    def tell(self, number: int, place: int, told: Lie) -> None:
        """Let a server lie to the client at this place, and check the result.

        A client that takes too long is lied to again: on a busy machine any call may be slow, but hardly
        twice.
        """
        client = self._clients[place]
        problem, outcome, took_s = self._try(place, told)
        if took_s > LONGEST_S:
            problem, outcome, took_s = self._try(place, told)
        if took_s > LONGEST_S:
            problem = f"took {took_s:.0f} s"
        self.tally.sent(told.kind, outcome)
        self.tally.lied_to(client.name)
        if problem is not None:
            self.tally.found(str(number), f"{client.name} of a {client.server}, {told.kind}: {problem}")

    def _try(self, place: int, told: Lie) -> tuple[str | None, str, float]:
        """Return what is wrong with how a client takes a lie, how it ends, and after how many seconds."""
        client = self._clients[place]
        self._answer(client, told)
        self._waits.told.clear()
        began = time.monotonic()
        try:
            made = client.call()
        except OstrakaError as error:
            problem = _problem_of(error)
            return problem, str(error.code), time.monotonic() - began
        except PatienceError:
            return None, "waits on", time.monotonic() - began
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            raised = type(error).__name__
            return f"{raised} at {Path(frame.filename).name}:{frame.name}: {error}", raised, 0.0
        took_s = time.monotonic() - began
        return self._problem_of_result(place, told, made), "accepted", took_s

    def _problem_of_result(self, place: int, told: Lie, made: Any) -> str | None:
        client = self._clients[place]
        if self._liars[client.server].exhausted and not client.lists:
            return "an endless stream was read to its end"
        if client.bound and not told.signed and made != self._genuine[place]:
            return "was accepted, altered"
        wrong = client.wrong(told.messages, made)
        return None if wrong is None else f"was accepted: {wrong}"

    def _answer(self, client: Client, told: Lie) -> None:
        """Let one server lie, and all others answer honestly."""
        honest = {path: Lie(replies) for path, replies in client.beside.items()}
        for server, liar in self._liars.items():
            own = told if server == client.server else Lie(client.honest)
            liar.answers = honest | {client.method.path: own}


def _problem_of(error: OstrakaError) -> str | None:
    """Return what is wrong with a refusal: an unforeseen one, unless the call itself ended with it."""
    if error.code is not ErrorCode.INTERNAL or isinstance(error.__cause__, grpc.RpcError):
        return None
    return f"internal: {error.message}"
