"""Start a program that dies with its parent, however the parent dies.

Run as a file with ``python -IS child.py PARENT_PID PROGRAM ARG...``: it asks the kernel (Linux) to kill this
process when the parent goes, then becomes the program.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # of <linux/prctl.h>


def main(parent: int, program: list[str]) -> None:
    """Bind this process's life to ``parent`` and replace it by ``program`` (absolute path first)."""
    die_with(parent)
    os.execv(program[0], program)  # noqa: S606


def die_with(parent: int) -> None:
    """Make the kernel (Linux) kill this process when its parent ends, at once if it has ended already."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        # After the call: a parent that ended before it no longer sends a signal.
        if os.getppid() != parent:
            os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
