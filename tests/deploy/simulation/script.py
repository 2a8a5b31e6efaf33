"""Entry point of the processes of these tests: a script that is their first argument."""

import sys


def run() -> None:
    """Run the script, which finds its own arguments after it, as a file would."""
    del sys.argv[0]
    exec(sys.argv[0], {"__name__": "__main__"})  # noqa: S102
