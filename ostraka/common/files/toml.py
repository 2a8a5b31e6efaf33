"""TOML written by people and administrators, with limits checked before it is used."""

import tomllib
from pathlib import Path
from typing import Any

MAX_CHARACTERS = 16 << 20
"""Maximum size of a file: a task of 100,000 columns, the most allowed, has 160 characters for each."""
MAX_TEXT = 20_000
"""Maximum number of characters of one text."""
MAX_ENTRIES = 100_000
"""Maximum number of entries of one list or table."""
DEEPEST = 16
"""Maximum depth of nested lists and tables."""
INTEGERS = range(-(2**63), 2**63)


class TomlError(ValueError):
    """A text is not TOML, or exceeds a limit; the message is the end of a sentence about the text."""


def read_toml(path: Path) -> dict[str, Any]:
    """Read the TOML file at `path`; raises TomlError, and OSError if it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            # One character more than is allowed is enough to see that there are too many.
            return parse_toml(file.read(MAX_CHARACTERS + 1))
    except UnicodeDecodeError as error:
        raise TomlError("is not valid TOML: it is not UTF-8") from error


def parse_toml(text: str) -> dict[str, Any]:
    """Parse a TOML text, which may begin with a byte-order mark; raises TomlError."""
    if len(text) > MAX_CHARACTERS:
        raise TomlError(f"has more than {MAX_CHARACTERS} characters")
    try:
        # Notepad and PowerShell write a byte-order mark.
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except tomllib.TOMLDecodeError as error:
        raise TomlError(f"is not TOML: {error}") from error
    except RecursionError as error:
        raise TomlError("is nested too deeply") from error
    except ValueError as error:  # Python does not read integers with very many digits
        raise TomlError("has a number of too many digits") from error
    _check(table)
    return table


def _check(table: dict[str, Any]) -> None:
    # A list instead of recursion: nesting that is too deep is refused and must not exhaust the stack.
    waiting: list[tuple[Any, int]] = [(table, 1)]
    while waiting:
        value, depth = waiting.pop()
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise TomlError(f"has a text of more than {MAX_TEXT} characters")
        if isinstance(value, int) and value not in INTEGERS:
            raise TomlError("has a number of more than 64 bits")
        if isinstance(value, dict | list):
            if len(value) > MAX_ENTRIES:
                raise TomlError(f"has a list or table of more than {MAX_ENTRIES} entries")
            if depth > DEEPEST:
                raise TomlError("is nested too deeply")
            parts = [*value, *value.values()] if isinstance(value, dict) else value
            waiting += [(part, depth + 1) for part in parts]
