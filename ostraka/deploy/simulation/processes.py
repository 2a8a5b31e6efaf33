"""Processes of a simulation: started fresh or forked, each with a log, waited for, and always stopped."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from multiprocessing import connection
from pathlib import Path
from types import FrameType, TracebackType
from typing import BinaryIO, Protocol, TypeAlias

from ostraka.common.errors import ErrorCode, OstrakaError

CHILD = Path(__file__).with_name("child.py")
MAIN = "ostraka.deploy.cli:main"


class Start(Protocol):
    """A way of starting processes."""

    def __call__(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
    ) -> "Process":
        """Start `entry`, a "module:function" that reads its arguments in sys.argv, and return at once.

        Its output is appended to `log`. It has its own session, and on Linux it dies with this process.
        Raises ``process.failed`` if no process can be started any more.
        """


def fresh(
    arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
) -> "subprocess.Popen[bytes]":
    """Start a new interpreter, which imports nothing from the working folder."""
    module, _, function = entry.partition(":")
    program = (sys.executable, "-P", "-c", f"from {module} import {function}; {function}()")
    return subprocess.Popen(
        [sys.executable, "-IS", str(CHILD), str(os.getpid()), *program, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        env=dict(environment),
        start_new_session=True,
    )


FORK_SERVER = "ostraka.deploy.simulation.fork_server"
THREADS = "OMP_NUM_THREADS"
MESSAGE = b"fork"
"""Message on the fork server's socket; the request is in a file, because an environment may exceed the
buffer.
"""


@dataclass(frozen=True)
class Order:
    """A request to the fork server: a process that runs `entry`, as in :class:`Start`, in `folder`."""

    entry: str
    arguments: list[str]
    environment: dict[str, str]
    folder: str


@contextmanager
def forking() -> Iterator[Start]:
    """Within the block, fork processes from one with all imports; they end with the block at the latest.

    On systems other than Linux, where libraries need not survive a fork, every process is a fresh
    interpreter.
    """
    if sys.platform != "linux":
        yield fresh
        return
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    # -P: nothing in the working folder is imported.
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
            yield ForkClient(ours)
        finally:
            ours.close()
            process.terminate()  # it may still be importing
            process.wait()


class ForkClient:
    """Lets the fork server, at the other end of `requests`, fork processes."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests

    def __call__(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
    ) -> "ForkedProcess":
        """Start a process from the fork server; raises ``process.failed`` if it is gone."""
        order = Order(entry, list(arguments), dict(environment), os.getcwd())
        read, write = os.pipe()
        with os.fdopen(os.memfd_create("order"), "w+", encoding="utf-8") as file:
            json.dump(asdict(order), file)
            file.seek(0)  # which also flushes
            with suppress(BrokenPipeError):
                socket.send_fds(self._requests, [MESSAGE], [file.fileno(), log.fileno(), write])
        # With this copy closed, the pipe ends when the fork server ends.
        os.close(write)
        return ForkedProcess(read)


class ForkedProcess:
    """A process forked by the fork server, which reports its id and end in `pipe`."""

    def __init__(self, pipe: int) -> None:
        self._pipe = os.fdopen(pipe)
        # Guards the pipe and the exit status: only one of several threads reads the status and closes the
        # pipe.
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
        """Its exit status if its end is known."""
        return self._returncode

    def poll(self) -> int | None:
        """Return its exit status if it ended; if the fork server ended, which kills it, a kill's status."""
        with self._lock:
            if self._returncode is None and self._ready_within(0):
                self._returncode = int(self._pipe.readline() or -signal.SIGKILL)
                self._pipe.close()
        return self._returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end and return its exit status."""
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


Process: TypeAlias = subprocess.Popen[bytes] | ForkedProcess
"""A started process; its id is also the id of its process group."""

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
POLL_S = 0.05


@dataclass(frozen=True)
class ChildCommand:
    """A command line of ``ostraka`` with a name, which its log file has too."""

    name: str
    arguments: Sequence[str]


@dataclass(frozen=True)
class Child:
    """A started process and the place of its output."""

    name: str
    process: Process
    log: Path

    def require_success(self) -> None:
        """Raise ``process.failed`` with the log's last line unless the process ended with status 0."""
        if self.process.returncode != 0:
            raise self._failure("failed")

    def require_alive(self) -> None:
        """Raise ``process.failed`` with the log's last line if the process has ended."""
        if self.process.poll() is not None:
            raise self._failure("ended early")

    def _failure(self, what: str) -> OstrakaError:
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        said = lines[-1].rstrip(".") if lines else "nothing"
        return OstrakaError(
            ErrorCode.PROCESS_FAILED,
            f"{self.name} {what} (status {self.process.returncode}) and said: {said}. Its log is {self.log}.",
            name=self.name,
        )


class Supervisor:
    """Starts ``ostraka`` processes; leaving its context stops every one of them.

    Children run in their own process groups, so a Ctrl-C in the terminal reaches only the simulator, which
    then stops them in order. On Linux the kernel kills them if the simulator itself is killed.
    """

    def __init__(
        self,
        logs: Path,
        environment: Mapping[str, str] | None = None,
        grace_s: float = 10.0,
        start: Start = fresh,
    ) -> None:
        """Keep logs in ``logs``; ``grace_s`` is how long a child may take to stop before it is killed."""
        self._logs = logs
        self._start = start
        self._environment = dict(os.environ) | dict(environment or {})
        self._grace_s = grace_s
        self._children: list[Child] = []

    def __enter__(self) -> "Supervisor":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, command: ChildCommand) -> Child:
        """Start one process in the background, its output in ``<name>.log``."""
        self._logs.mkdir(parents=True, exist_ok=True)
        log = self._logs / f"{command.name}.log"
        with log.open("ab") as output:
            process = self._start(command.arguments, output, self._environment)
        child = Child(command.name, process, log)
        self._children.append(child)
        return child

    def run_all(
        self, commands: Sequence[ChildCommand], at_once: int, on_ended: Callable[[int], None] = lambda _: None
    ) -> None:
        """Run all commands to their end, at most ``at_once`` together; a failure raises ``process.failed``.

        ``on_ended`` is called with the number of ended commands whenever one ends.
        """
        waiting = list(commands)
        running = list[Child]()
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(self.start(waiting.pop(0)))
            ended = [child for child in running if child.process.poll() is not None]
            for child in ended:
                child.require_success()
                running.remove(child)
                on_ended(len(commands) - len(waiting) - len(running))
            if not ended:
                time.sleep(POLL_S)

    def wait_ended(self, children: Sequence[Child]) -> None:
        """Wait until every child has ended; the first failure is ``process.failed``."""
        for child in children:
            child.process.wait()
            child.require_success()

    def end(self, child: Child) -> None:
        """Ask a child to stop and wait as long as that takes; raises ``process.failed`` if it fails."""
        child.process.terminate()
        self.wait_ended([child])

    def wait_ready(self, child: Child, ready: Path, timeout_s: float) -> str:
        """Wait until a server has written its ready file, and return the address in it.

        Raises ``process.failed`` if the server ends first or is not ready after ``timeout_s`` seconds.
        """
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            child.require_alive()
            if ready.exists():
                return str(json.loads(ready.read_text(encoding="utf-8"))["address"])
            time.sleep(POLL_S)
        raise OstrakaError(
            ErrorCode.PROCESS_FAILED,
            f"{child.name} was not ready after {timeout_s:.0f} s. Its log is {child.log}.",
            name=child.name,
        )

    def stop(self) -> None:
        """Ask every child to stop, wait, and kill the rest; stop signals wait until this is done."""
        # In a thread other than the main one, signals cannot be handled, and need not be.
        here = threading.current_thread() is threading.main_thread()
        with _handling(STOP_SIGNALS if here else (), signal.SIG_IGN):
            alive = [child.process for child in self._children if child.process.poll() is None]
            for process in alive:
                process.terminate()
            deadline = time.monotonic() + self._grace_s
            for process in alive:
                try:
                    process.wait(max(0.0, deadline - time.monotonic()))
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            self._children.clear()


@contextmanager
def exit_on_signals() -> Iterator[None]:
    """Turn the stop signals into an orderly exit (status 128 + signal) that runs every ``finally``."""

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    with _handling(STOP_SIGNALS, leave):
        yield


@contextmanager
def _handling(
    signals: Sequence[signal.Signals], handler: Callable[..., None] | signal.Handlers
) -> Iterator[None]:
    """Install this signal handler within the block."""
    before = {number: signal.signal(number, handler) for number in signals}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
