"""An answering party in a separate process."""

from collections.abc import Iterator
from contextlib import contextmanager

from ostraka.deploy.simulation.processes import Child, ChildCommand, Start, Supervisor
from tests.services.wire import Caller, Federation
from tests.waiting import until

READY_S = 120.0


@contextmanager
def process(made: Federation, start: Start) -> Iterator[tuple[Child, Caller]]:
    """Run the party as a serving process, with a querying party's channel to it."""
    ready = made.root / "ready.json"
    with Supervisor(made.root / "logs", start=start) as processes:
        words = ["party", "serve", "--site", str(made.party), "--ready-file", str(ready)]
        child = processes.start(ChildCommand("party", words))
        with made.calling(processes.wait_ready(child, ready, READY_S)) as caller:
            yield child, caller


def wait_for(child: Child, event: str) -> str:
    """Wait until the process has logged `event`, and return its log so far."""
    until(lambda: event in child.log.read_text())
    return child.log.read_text()
