"""Processes that start at once: forked from one, the fork server, that has imported all they need."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import connection
from typing import BinaryIO

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.deploy.simulation.process_start import CHILD, MAIN, Start, fresh

FORK_SERVER = "ostraka.deploy.simulation.fork_server"
THREADS = "OMP_NUM_THREADS"


@dataclass(frozen=True)
class Order:
    """What the fork server is asked for: a process that runs `entry`, as :class:`Start` says, in `folder`."""

    entry: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str


@contextmanager
def forking() -> Iterator[Start]:
    """Within the block, start processes by fork from one that has imported all; they end with it at latest.

    Elsewhere than on Linux, where libraries need not outlive a fork, every process is a fresh interpreter.
    """
    if sys.platform != "linux":
        yield fresh
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # -P: what lies in the working folder is not imported.
    words = (sys.executable, "-IS", str(CHILD), str(os.getpid()), sys.executable, "-P", "-m", FORK_SERVER)
    with ours, theirs:
        process = subprocess.Popen(
            [*words, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | {THREADS: "1"},
            pass_fds=[theirs.fileno()],
            start_new_session=True,
        )
        theirs.close()
        try:
            yield Forks(ours)
        finally:
            ours.close()
            process.terminate()  # it may still be importing
            process.wait()


class Forks:
    """Has processes forked."""

    def __init__(self, requests: socket.socket) -> None:
        """Take one end of the pair whose other end the fork server has."""
        self._requests = requests

    def __call__(
        self,
        arguments: Sequence[str],
        log: BinaryIO,
        environment: Mapping[str, str],
        *,
        entry: str = MAIN,
    ) -> "Forked":
        """Start a process from the fork server; raises ``process.failed`` where it is gone."""
        order = Order(entry, list(arguments), dict(environment), os.getcwd())
        read, write = os.pipe()
        with suppress(BrokenPipeError):
            socket.send_fds(self._requests, [json.dumps(asdict(order)).encode()], [log.fileno(), write])
        os.close(write)
        return Forked(read)


class Forked:
    """A process that was forked from the fork server."""

    def __init__(self, pipe: int) -> None:
        """Take the end of the pipe that tells of the process."""
        self._pipe = os.fdopen(pipe)
        self._lock = threading.Lock()
        self._returncode: int | None = None
        if not (line := self._pipe.readline()):
            self._pipe.close()
            raise OstrakaError(ErrorCode.PROCESS_FAILED, "The process that forks all others has ended.")
        self._pid = int(line)

    @property
    def pid(self) -> int:
        """Its id."""
        return self._pid

    @property
    def returncode(self) -> int | None:
        """Its exit status once it is known that it ended."""
        return self._returncode

    def poll(self) -> int | None:
        """Its exit status if it ended; that of a kill where the fork server did, which takes it along."""
        with self._lock:
            if self._returncode is None and self._ready_within(0):
                self._returncode = int(self._pipe.readline() or -signal.SIGKILL)
                self._pipe.close()
        return self._returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status when it ends."""
        if self._returncode is None:
            self._ready_within(timeout)
        if (status := self.poll()) is None:
            raise subprocess.TimeoutExpired(MAIN, timeout or 0)
        return status

    def terminate(self) -> None:
        """Ask it to stop."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(self._pid, number)

    def _ready_within(self, seconds: float | None) -> bool:
        return bool(connection.wait([self._pipe.fileno()], seconds))
