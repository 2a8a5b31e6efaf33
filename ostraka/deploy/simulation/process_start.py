"""Ways of starting a process of a site, and what is known of one that was started."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

CHILD = Path(__file__).with_name("child.py")
MAIN = "ostraka.deploy.cli:main"


class Process(Protocol):
    """A started process, as :class:`subprocess.Popen` tells of it."""

    @property
    def pid(self) -> int:
        """Its id, which is its process group's as well."""

    @property
    def returncode(self) -> int | None:
        """Its exit status once it is known that it ended: minus the signal that killed it."""

    def poll(self) -> int | None:
        """Its exit status if it ended."""

    def wait(self, timeout: float | None = None) -> int:
        """Its exit status when it ends; raises `subprocess.TimeoutExpired` after `timeout` seconds."""

    def terminate(self) -> None:
        """Ask it to stop."""

    def kill(self) -> None:
        """End it at once."""


class Start(Protocol):
    """A way of starting processes."""

    def __call__(
        self, arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
    ) -> Process:
        """Start `entry`, a "module:function" that reads its arguments in sys.argv, and return at once.

        Its output is added to `log`. It has a session of its own, and on Linux it dies with this process.
        Raises ``process.failed`` where no process can be started any more.
        """


def fresh(
    arguments: Sequence[str], log: BinaryIO, environment: Mapping[str, str], *, entry: str = MAIN
) -> "subprocess.Popen[bytes]":
    """Start a new interpreter, which imports nothing that lies in the working folder."""
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
