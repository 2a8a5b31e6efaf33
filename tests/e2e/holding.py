"""A party that holds a call before one of its replies, so that a test can kill something meanwhile.

`main` is the entry point of processes; the environment variable `HELD` says what a process holds.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Self

from ostraka.deploy.cli import main as run_ostraka
from ostraka.deploy.simulation.processes import Start

HELD = "OSTRAKA_TESTS_HELD"
LOOK_EVERY_S = 0.02


@dataclass(frozen=True)
class Held:
    """A call that is held, the first few times that it is made.

    Attributes:
        folder: where a process reports that it holds the call, and is told to continue.
        site: the party that holds it.
        call: "Vote", "Garble" or "Train".
        times: how often it is held.
        replies: number of messages of a streamed reply that are sent first.
    """

    folder: str
    site: str
    call: str
    times: int
    replies: int = 0

    @classmethod
    def of(cls, environment: dict[str, str]) -> Self:
        """Read the call from the environment of a process."""
        return cls(**json.loads(environment[HELD]))

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that pass it to a process."""
        return {HELD: json.dumps(asdict(self))}

    def began(self, number: int) -> Path:
        """Return the file that exists once the call is held; the first time is number 0."""
        return Path(self.folder, f"began-{number}")

    def go(self, number: int) -> Path:
        """Return the file that lets the call continue."""
        return Path(self.folder, f"go-{number}")

    def wait(self, number: int) -> None:
        """Hold a call until it may continue."""
        if number >= self.times:
            return
        self.began(number).touch()
        pause = threading.Event()
        while not self.go(number).exists():
            pause.wait(LOOK_EVERY_S)


def start_holding(start: Start) -> Start:
    """Return a way to start processes that hold the calls in their environment."""
    return partial(start, entry=f"{__name__}:main")


@contextmanager
def while_held(held: Held, *works: Callable[[], object]) -> Iterator[None]:
    """Do one work each time the call is held in the block, then let it continue; all must be done."""
    over = threading.Event()
    done: list[int] = []

    def work() -> None:
        for number, one in enumerate(works):
            while not held.began(number).exists():
                if over.wait(LOOK_EVERY_S):
                    return
            one()
            done.append(number)
            held.go(number).touch()

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
    assert len(done) == len(works)


def main() -> None:
    """Run a command of `ostraka`; the process that serves the party holds its call."""
    held = Held.of(dict(os.environ))
    if sys.argv[1] == "party" and Path(sys.argv[sys.argv.index("--site") + 1]).name == held.site:
        _hold(held)
    run_ostraka()


def _hold(held: Held) -> None:
    from ostraka.services.serving.server import PartyService
    from ostraka.services.training.training_server import TrainingService

    service: Any = TrainingService if held.call == "Train" else PartyService
    original = getattr(service, held.call)
    numbers = count()

    def answer(self: object, *arguments: object) -> object:
        reply = original(self, *arguments)
        held.wait(next(numbers))
        return reply

    def stream(self: object, *arguments: object) -> Iterator[object]:
        number = next(numbers)
        for sent, reply in enumerate(original(self, *arguments)):
            if sent == held.replies:
                held.wait(number)
            yield reply

    setattr(service, held.call, answer if held.call == "Train" else stream)
