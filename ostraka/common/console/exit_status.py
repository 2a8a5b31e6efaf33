"""What a command's exit status says; docs/commands.md has the same list."""

from enum import IntEnum


class ExitStatus(IntEnum):
    """How a command ended, for scripts."""

    DONE = 0
    INTERNAL = 1
    """A mistake of Ostraka's own; the sentence asks to report it."""
    REFUSED = 2
    """Nothing was done: a wrong option, or an error with a stable code."""
    STOPPED = 3
    """It did a part and stopped before the end, such as at a budget that is used up; the rest can follow."""
    INTERRUPTED = 130
    """Somebody pressed Ctrl-C; the same command goes on where it can."""
