"""Shared parts of every command line: errors as one sentence, exit statuses, results as JSON."""

import io
import json
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any, NoReturn

import typer

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import is_full, replace_durably, room_in, storage_full


class ExitStatus(IntEnum):
    """How a command ended; for scripts."""

    DONE = 0
    INTERNAL = 1
    """An error in Ostraka itself; the sentence asks to report it."""
    REFUSED = 2
    """Nothing was done: a wrong option, or an error with a stable code."""
    STOPPED = 3
    """It did a part and stopped early, for instance because a budget is used up; the rest can follow."""
    INTERRUPTED = 130
    """Somebody pressed Ctrl-C; the same command continues where it can."""


_OURS = "ostraka"
_DISTRIBUTIONS = {"nacl": "pynacl", "sklearn": "scikit-learn"}
"""Distribution names of packages, if they differ."""


def missing_package(error: ModuleNotFoundError) -> OstrakaError | None:
    """Return `config.invalid` naming the extras that install a package; None if no extra does."""
    package = (error.name or "").partition(".")[0]
    extras = _bringing(_DISTRIBUTIONS.get(package, package.replace("_", "-")))
    return not_installed(package, extras) if extras else None


def not_installed(package: str | None, extras: Sequence[str]) -> OstrakaError:
    """Return `config.invalid` for a package that each of these extras installs."""
    commands = " or ".join(f"pip install 'ostraka[{extra}]'" for extra in extras)
    return OstrakaError(
        ErrorCode.CONFIG_INVALID, f"This needs {package}, which is not installed; run {commands}."
    )


def _bringing(distribution: str) -> list[str]:
    """Return the extras that name a distribution."""
    from importlib.metadata import requires  # slow, and only needed for an error

    stated = re.compile(rf"{re.escape(distribution)}(?![\w.-]).*extra == ['\"](\w+)['\"]")
    found = [matched[1] for line in requires(_OURS) or () if (matched := stated.match(line))]
    return [extra for extra in found if extra != "dev"] if distribution != _OURS else []


def run(app: typer.Typer, name: str | None = None, prepare: Callable[[], None] | None = None) -> None:
    """Run `app`, whose help calls it `name`, and end the process with an `ExitStatus`.

    Groups of class `CommandGroup` call `prepare` before a command's function, but not for help. An
    OstrakaError is printed as one line on stderr, and so is a missing package that an extra installs. Any
    other exception is an error in Ostraka itself, and the line ends with the place where it happened.
    """
    for stream in (sys.stdout, sys.stderr):
        # Words of tables are printed; a terminal that lacks a letter shows its code, and no work is lost.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name=name, obj=prepare)
    except OstrakaError as error:
        _leave(error.code, error.message, ExitStatus.REFUSED)
    except Exception as error:
        if is_full(error):
            full = storage_full(getattr(error, "filename", None) or "what this command writes")
            _leave(full.code, full.message, ExitStatus.REFUSED)
        if isinstance(error, ModuleNotFoundError) and (missing := missing_package(error)):
            _leave(missing.code, missing.message, ExitStatus.REFUSED)
        where = traceback.extract_tb(error.__traceback__)[-1]
        problem = f"{type(error).__name__} at {where.filename}:{where.lineno}: {error}"
        _leave(ErrorCode.INTERNAL, f"{problem}. Please report this.", ExitStatus.INTERNAL)


def _leave(code: ErrorCode, message: str, status: ExitStatus) -> NoReturn:
    """Write the error, in colour if stderr is a terminal and NO_COLOR is not set."""
    from rich.text import Text

    from ostraka.common.console.screen import Screen

    mark = Text(f"error [{code}]:", style="bold red")
    Screen(stderr=True).print(mark, message, soft_wrap=True, highlight=False)
    sys.exit(status)


def write_json(obj: Any, target: str | None) -> None:
    """Write `obj` as JSON to the file `target`; `-` is standard output, None writes nothing.

    Raises:
        OstrakaError: config.invalid if the file cannot be written, storage.full if the disk is full.
    """
    if target is None:
        return
    text = json.dumps(obj, indent=2, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
    else:
        write_file(Path(target), text.encode())


def write_file(path: Path, data: bytes) -> None:
    """Write a file that the user named, a new one whole or not at all; raises as `write_json` does."""
    try:
        with room_in(path.parent):
            # A device, a link, or a file with rights of its own is filled, never replaced.
            if path.exists():
                path.write_bytes(data)
            else:
                replace_durably(path, data)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: Path, error: OSError) -> OstrakaError:
    """Return the error for a file that cannot be written."""
    return OstrakaError(
        ErrorCode.CONFIG_INVALID,
        f"Cannot write {path}: {error.strerror}; name a file in a folder that exists and is writable.",
    )
