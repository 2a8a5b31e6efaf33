"""The process from which sites are forked: it has imported nearly everything that their commands need.

Run as ``python -m ostraka.deploy.simulation.fork_server FD``, where FD is its end of a ``SOCK_SEQPACKET``
pair. A message carries three file descriptors: a file with the JSON of an `Order`, the log, and a pipe for
the new process's id and later its exit status, one line each. The process ends when the other end is closed,
and all its children with it.

The standard library's forkserver is not suitable: every process that it forks runs the caller's main script
again, so `ostraka.simulate` in a script without a guard (as in docs/python.md) fails, and its processes
outlive it.
"""

import atexit
import contextlib
import gc
import json
import os
import select
import signal
import socket
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import TextIO

from ostraka.deploy.simulation.child import die_with
from ostraka.deploy.simulation.processes import MESSAGE, THREADS, Order

TRAINING = (
    "cryptography.hazmat.backends.openssl.backend",
    "ostraka.deploy.cli",
    "ostraka.services.commands.train",
    "ostraka.services.party",
    "ostraka.services.teachers.training",
    "sklearn.linear_model",
    "torch",
    "skops.io",
)
"""Imports of parties that train: they are forked first, and train during the remaining imports."""
SERVING = (
    "ostraka.client.training.leading",
    "dp_accounting",
    "ostraka.guardian.serving.server",
    "ostraka.services.teachers.encrypted_heads",
    "ostraka.services.serving.server",
    "ostraka.services.training.training_server",
    "sqlalchemy.dialects.sqlite",
    "tenseal",
)
TRAIN = ["party", "train"]
"""The first arguments of a command that needs only `TRAINING`."""
THREADED = ("pandas", "polars")
"""Packages that the imports here import, if installed; a fork loses their threads, and locks that these held
stay locked."""


@dataclass(frozen=True)
class NewProcess:
    """The order of a new process, and the log for its output."""

    order: Order
    log: int


class ForkServer:
    """Forks at every message, and reports when the process ends; created once, in the main thread."""

    def __init__(self, requests: socket.socket) -> None:
        self._requests = requests
        self._id = os.getpid()
        self._pipes: dict[int, int] = {}
        self._left = list(SERVING)
        self._ended, self._wake = socket.socketpair()
        # Required by set_wakeup_fd. A full buffer loses nothing: one byte is enough to check all children.
        self._wake.setblocking(False)
        # With an ignored SIGCHLD the loop would not wake, and the kernel would reap the children unseen.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._wake.fileno(), warn_on_full_buffer=False)

    def serve(self) -> NewProcess | None:
        """Return its order in every new process, and None in the fork server at the end."""
        while True:
            # The remaining imports happen while there is no request.
            ready, _, _ = select.select([self._requests, self._ended], [], [], 0 if self._left else None)
            if not ready:
                self._import_next()
            if self._ended in ready:
                self._ended.recv(4096)  # any number of wake-ups: all children are checked
                self._reap()
            if self._requests in ready:
                message, files, _, _ = socket.recv_fds(self._requests, len(MESSAGE), 3)
                if not message:
                    return None
                order, log, pipe = files
                with open(order, encoding="utf-8") as file:
                    asked = Order(**json.loads(file.read()))
                while self._left and asked.arguments[: len(TRAIN)] != TRAIN:
                    self._import_next()
                if self._fork(log, pipe):
                    return NewProcess(asked, log)

    def _import_next(self) -> None:
        _import(self._left.pop(0))

    def _fork(self, log: int, pipe: int) -> bool:
        """Return whether this is the new process."""
        # Imported objects stay: collections in children would write to, and so copy, their pages.
        gc.freeze()
        child = os.fork()
        if child == 0:
            # First, so that no child outlives the fork server.
            die_with(self._id)
            # Before the id is sent, so that its reader may signal the group.
            os.setsid()
            _write_line(pipe, os.getpid())
            return True
        os.close(log)
        self._pipes[child] = pipe
        return False

    def _reap(self) -> None:
        while self._pipes:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            pipe = self._pipes.pop(child)
            _write_line(pipe, os.waitstatus_to_exitcode(status))
            os.close(pipe)


def _import(name: str) -> None:
    with contextlib.suppress(ModuleNotFoundError):  # whoever needs the package reports it
        import_module(name)


def _write_line(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(pipe, b"%d\n" % number)


def _become_new(new: NewProcess) -> None:
    """Give a forked process the state of a fresh one: its output, folder, environment, randomness."""
    gc.enable()
    for name in THREADED:
        del sys.modules[name]
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    sys.stdout = _reopen(new.log, sys.stdout)
    sys.stderr = _reopen(new.log, sys.stderr)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(new.order.folder)
    os.environ.clear()
    os.environ.update(new.order.environment)
    _draw_and_compute_alone()
    sys.argv = ["ostraka", *new.order.arguments]


def _reopen(log: int, output: TextIO) -> TextIO:
    """Return a stream in place of `output` whose file descriptor is the log's from now on.

    The old stream remembers that its file is seekable, and fails if the log is a pipe or terminal.
    """
    os.dup2(log, output.fileno())
    buffering = 1 if output is sys.stderr else -1
    return os.fdopen(output.fileno(), "w", buffering, output.encoding, errors=output.errors, closefd=False)


def _draw_and_compute_alone() -> None:
    """Give this process its own threads and randomness."""
    import numpy as np
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(int(os.environ.get(THREADS, os.cpu_count() or 1)))
    np.random.seed()
    torch.seed()


class FastExit:
    """Ends this process after all its exit handlers, before the interpreter tears down its modules.

    The teardown has no visible effect, and takes half a second of processor time.
    """

    def __init__(self) -> None:
        self.status = 0
        # Registered first, so it is called last.
        atexit.register(self._end)

    def _end(self) -> None:
        for output in (sys.stdout, sys.stderr):
            output.flush()
        os._exit(self.status)


def _run(entry: str) -> int:
    """Run a "module:function" and return its exit status; report its exit as an interpreter does."""
    module, _, function = entry.partition(":")
    try:
        getattr(import_module(module), function)()
    except SystemExit as left:
        if isinstance(left.code, int | None):
            return left.code or 0
        print(left.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main(end: int) -> None:
    """Import, and fork until the other end is closed; in every forked process run its order."""
    exiting = FastExit()
    # Imported objects are not garbage, and searching them takes a quarter of the time.
    gc.disable()
    sys.modules.update(dict.fromkeys(THREADED))  # type: ignore[arg-type]
    for name in TRAINING:
        _import(name)
    new = ForkServer(socket.socket(fileno=end)).serve()
    if new is not None:
        _become_new(new)
        exiting.status = _run(new.order.entry)


if __name__ == "__main__":
    main(int(sys.argv[1]))
