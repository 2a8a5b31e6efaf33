"""The process that sites are forked from: it has imported nearly all that any of their commands needs.

Run as ``python -m ostraka.deploy.simulation.fork_server FD``, where FD is its end of a ``SOCK_SEQPACKET``
pair. A message is the JSON of an `Order`, with the log and a pipe as file descriptors; into the pipe go the
new process's id and later its exit status, a line each. The process ends when the other end is closed, and
all its children with it.
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

from ostraka.deploy.simulation.child import die_with
from ostraka.deploy.simulation.processes import THREADS, Order

MOST_BYTES = 2**18
IMPORTED = (
    "ostraka.client.training.leading",
    "cryptography.hazmat.backends.openssl.backend",
    "ostraka.deploy.cli",
    "dp_accounting",
    "ostraka.guardian.cli",
    "ostraka.guardian.serving.server",
    "opendp.prelude",
    "ostraka.services.cli",
    "ostraka.services.teachers.encrypted_heads",
    "ostraka.services.serving.server",
    "ostraka.services.training.training_server",
    "sklearn.linear_model",
    "skops.io",
    "sqlalchemy.dialects.sqlite",
    "tenseal",
)
THREADED = ("pandas", "polars")
"""Imported by what is imported here, where they are installed; their threads are lost in a fork, and what
these held stays locked."""


@dataclass(frozen=True)
class Begun:
    """What a new process is to do, and where its output goes."""

    order: Order
    log: int


class ForkServer:
    """Forks at every message, and tells whoever asked when the process ends."""

    def __init__(self, requests: socket.socket) -> None:
        """Take this end of the pair; called once, in the main thread."""
        self._requests = requests
        self._id = os.getpid()
        self._pipes: dict[int, int] = {}
        self._ended, wake = socket.socketpair()
        self._wake = wake
        wake.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)

    def serve(self) -> Begun | None:
        """Return in every new process what it is to do, and None in the fork server at the end."""
        while True:
            ready, _, _ = select.select([self._requests, self._ended], [], [])
            if self._ended in ready:
                self._ended.recv(4096)
                self._bury()
            if self._requests in ready:
                message, files, _, _ = socket.recv_fds(self._requests, MOST_BYTES, 2)
                if not message:
                    return None
                if self._fork(*files):
                    return Begun(Order(**json.loads(message)), files[0])

    def _fork(self, log: int, pipe: int) -> bool:
        """Whether this is the new process, which tells its id itself once it leads its group."""
        child = os.fork()
        if child == 0:
            die_with(self._id)
            os.setsid()
            _tell(pipe, os.getpid())
            return True
        os.close(log)
        self._pipes[child] = pipe
        return False

    def _bury(self) -> None:
        while self._pipes:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            pipe = self._pipes.pop(child)
            _tell(pipe, os.waitstatus_to_exitcode(status))
            os.close(pipe)


def _tell(pipe: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):
        os.write(pipe, b"%d\n" % number)


def _become_new(begun: Begun) -> None:
    """Make a forked process what a fresh one would be: its output, folder, environment, randomness."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for output in (sys.stdout, sys.stderr):
        os.dup2(begun.log, output.fileno())
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(begun.order.folder)
    os.environ.clear()
    os.environ.update(begun.order.environment)
    _draw_and_compute_alone()
    sys.argv = ["ostraka", *begun.order.arguments]


def _draw_and_compute_alone() -> None:
    """Give this process threads and randomness of its own."""
    import numpy as np
    import torch
    from threadpoolctl import threadpool_limits

    threadpool_limits(int(os.environ.get(THREADS, os.cpu_count() or 1)))
    np.random.seed()
    torch.seed()


class FastExit:
    """Ends this process after everything else that it does at its end, before it takes its modules apart.

    That shows nothing, and takes half a second of processor time.
    """

    def __init__(self) -> None:
        """Have whatever asks later to be called at the end called earlier."""
        self.status = 0
        atexit.register(self._end)

    def _end(self) -> None:
        for output in (sys.stdout, sys.stderr):
            output.flush()
        os._exit(self.status)


def _run(entry: str) -> int:
    """Run a "module:function" and return its exit status; report how it exits as an interpreter does."""
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
    """Import, and fork until the other end is closed; run in every forked process what it was started for."""
    exiting = FastExit()
    hidden = dict.fromkeys(THREADED)
    sys.modules.update(hidden)  # type: ignore[arg-type]
    for name in IMPORTED:
        with contextlib.suppress(ModuleNotFoundError):  # whoever needs the package tells of it
            import_module(name)
    for name in hidden:
        del sys.modules[name]
    gc.freeze()
    begun = ForkServer(socket.socket(fileno=end)).serve()
    if begun is not None:
        _become_new(begun)
        exiting.status = _run(begun.order.entry)


if __name__ == "__main__":
    main(int(sys.argv[1]))
