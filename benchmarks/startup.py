"""Processor time of `ostraka --version` and of the commands' help, compared with an empty Python."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from typer import Context
from typer.main import get_command

from ostraka.common.console.commands import import_command
from ostraka.deploy.cli import app

REPEATS = 5  # the shortest counts: other load only adds time
GROUP_OR_COMMAND = 2  # words; deeper commands import the same as others of their group


def paths(command: object = None, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every group and command below `command`; None: of the whole command line."""
    found = get_command(app) if command is None else command
    if words:
        yield words
    for name, listed in getattr(found, "commands", {}).items():
        yield from paths(import_command(listed, Context(listed)), (*words, name))


def main() -> None:
    """Print seconds of processor time, and the ratio to an empty Python's."""
    ostraka = str(Path(sys.executable).with_name("ostraka"))
    least = seconds([sys.executable, "-c", "pass"])
    print(f"{'command':<34}{'seconds':>8}{'times an empty Python':>24}")
    commands = [("--version",), ("--help",), *((*words, "--help") for words in paths() if _is_shown(words))]
    for words in commands:
        taken = seconds([ostraka, *words])
        print(f"{' '.join(words):<34}{taken:8.2f}{taken / least:24.1f}", flush=True)


def seconds(command: Sequence[str]) -> float:
    """Return the least processor time of several runs of a command, with cached bytecode."""
    return min(_once(command) for _ in range(REPEATS))


def _once(command: Sequence[str]) -> float:
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=kept) as child:
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, command
    return used.ru_utime + used.ru_stime


def _is_shown(words: tuple[str, ...]) -> bool:
    return len(words) <= GROUP_OR_COMMAND


if __name__ == "__main__":
    main()
