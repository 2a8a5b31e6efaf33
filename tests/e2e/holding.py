"""A party that holds a call before one of its replies, so that something can be killed while it is under way.

`main` is the entry of processes; what one of them holds is in the variable `HELD` of their environment.
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
    """Which call is held, the first few times that it is made.

    Attributes:
        folder: where a process says that it holds the call, and is told to go on.
        site: the party that holds it.
        call: "Vote", "Garble" or "Train".
        times: how often.
        replies: messages of a streamed reply that are sent before.
    """

    folder: str
    site: str
    call: str
    times: int
    replies: int = 0

    @classmethod
    def of(cls, environment: dict[str, str]) -> Self:
        """Read what the environment of a process says."""
        return cls(**json.loads(environment[HELD]))

    @property
    def environment(self) -> dict[str, str]:
        """Variables that say it to a process."""
        return {HELD: json.dumps(asdict(self))}

    def began(self, number: int) -> Path:
        """Return the file that is there once the call is held, for the first time at 0."""
        return Path(self.folder, f"began-{number}")

    def go(self, number: int) -> Path:
        """Return the file by which the call goes on."""
        return Path(self.folder, f"go-{number}")

    def wait(self, number: int) -> None:
        """Hold a call until it is to go on."""
        if number >= self.times:
            return
        self.began(number).touch()
        pause = threading.Event()
        while not self.go(number).exists():
            pause.wait(LOOK_EVERY_S)


def start_holding(start: Start) -> Start:
    """Return a way to start processes that hold what their environment says."""
    return partial(start, entry=f"{__name__}:main")


@contextmanager
def while_held(held: Held, *works: Callable[[], object]) -> Iterator[None]:
    """Do one work each time that the call is held within the block, then let it go on; all must be done."""
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
    """Run a command of `ostraka`; the one that serves the party holds its call."""
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
