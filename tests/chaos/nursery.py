"""Real guardian processes that start at once: children of one process that has imported everything."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_MOTHER = """
import os, signal, sys, threading
from pathlib import Path
from guardian.server import running

signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for folder in sys.stdin:
    child = os.fork()
    if child == 0:
        with running(Path(folder.strip())) as address:
            print(os.getpid(), address, flush=True)
            threading.Event().wait()
"""


class Nursery:
    """Starts guardians, one after another."""

    def __init__(self, mother: subprocess.Popen[str]) -> None:
        self._mother = mother

    def start(self, folder: Path) -> tuple[int, str]:
        """The process id and address of a new guardian that serves from `folder`."""
        assert self._mother.stdin is not None
        assert self._mother.stdout is not None
        self._mother.stdin.write(f"{folder}\n")
        self._mother.stdin.flush()
        pid, address = self._mother.stdout.readline().split()
        return int(pid), address


@contextmanager
def nursery() -> Iterator[Nursery]:
    """A nursery whose guardians are gone after the block."""
    command = [sys.executable, "-c", _MOTHER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as mother:
        try:
            yield Nursery(mother)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(mother.pid, signal.SIGKILL)
