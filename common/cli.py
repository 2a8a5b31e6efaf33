"""What every command line shares: errors as one sentence, results as JSON."""

import json
import sys
from pathlib import Path
from typing import Any

import typer

from common.errors import ErrorCode, OstrakaError


def run(app: typer.Typer) -> None:
    """Run `app` and leave the process: an OstrakaError or a usage error is one line on stderr and exit 2."""
    try:
        app()
    except OstrakaError as error:
        typer.echo(f"error [{error.code}]: {error.message}", err=True)
        sys.exit(2)


def write_json(obj: Any, target: str | None) -> None:
    """Write `obj` as JSON to the file `target`; `-` is standard output, None writes nothing.

    Raises:
        OstrakaError: config.invalid where the file cannot be written.
    """
    if target is None:
        return
    text = json.dumps(obj, indent=2, allow_nan=False) + "\n"
    if target == "-":
        sys.stdout.write(text)
        return
    try:
        Path(target).write_text(text, encoding="utf-8")
    except OSError as error:
        raise OstrakaError(
            ErrorCode.CONFIG_INVALID,
            f"Cannot write {target}: {error.strerror}; name a file in a folder that exists and is writable.",
        ) from error
