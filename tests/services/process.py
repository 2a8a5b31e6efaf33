"""An answering party as a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.services.wire import Caller, Federation

SERVE = """
import sys
from pathlib import Path
from services.server import serve
serve(Path(sys.argv[1]), ready_file=Path(sys.argv[2]))
"""


@contextmanager
def process(made: Federation) -> Iterator[tuple[subprocess.Popen[str], Caller]]:
    """The party as a process of its own that serves, and a querying party's channel to it."""
    ready = made.root / "ready.json"
    command = [sys.executable, "-c", SERVE, str(made.party), str(ready)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as started:
        try:
            wait_for(started, "party.serving")
            with made.calling(json.loads(ready.read_text())["address"]) as caller:
                yield started, caller
        finally:
            started.kill()


def wait_for(started: "subprocess.Popen[str]", event: str) -> str:
    """Returns when the process has logged `event`, with what it said until then."""
    assert started.stdout is not None
    said = ""
    for line in started.stdout:
        said += line
        if event in line:
            return said
    raise AssertionError(f"{event} was not logged: {said}")
