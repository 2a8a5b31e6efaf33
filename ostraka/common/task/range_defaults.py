"""Ranges that a task file states once for many columns, and names with wildcards."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ostraka.common.files.toml import TomlError

WILDCARD = "*"
"""In a name it matches any characters, including none."""
TABLE = "[input.table.defaults]"
KEYS = ("min", "max", "clip")
"""Keys for which a default applies to a column of numbers that does not set them itself."""


def matches(name: str, wildcard: str) -> bool:
    """Whether a name matches a wildcard, in time linear in the name for each *."""
    first, *rest = wildcard.split(WILDCARD)
    if not rest:
        return name == wildcard
    *middle, last = rest
    at = len(first)
    end = len(name) - len(last)
    if end < at or not name.startswith(first) or not name.endswith(last):
        return False
    for part in middle:
        found = name.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True


def with_ranges(stated: dict[str, Any]) -> dict[str, Any]:
    """Return a task file's fields with the ranges of [input.table.defaults] added to columns of numbers.

    A column's own keys come first, then those of the first wildcard that matches its name, such as
    [input.table.defaults."gene*"], then those for all columns. The digest of a task does not depend on how
    its ranges are written. Raises TomlError for invalid defaults.
    """
    given = stated.get("input")
    if not isinstance(given, dict) or "table" not in given:
        return stated
    table = given["table"]
    if not isinstance(table, dict) or set(table) != {"defaults"} or not isinstance(table["defaults"], dict):
        raise TomlError(f"has a table [input.table] with other keys than defaults: write {TABLE}")
    defaults = table["defaults"]
    wildcards = {name: ranges for name, ranges in defaults.items() if isinstance(ranges, dict)}
    everywhere = {key: value for key, value in defaults.items() if key not in wildcards}
    unknown = [key for ranges in (everywhere, *wildcards.values()) for key in ranges if key not in KEYS]
    if unknown:
        raise TomlError(f"has a key '{unknown[0]}' in {TABLE}: it takes {', '.join(KEYS)}, and wildcards")
    kept = {key: value for key, value in given.items() if key != "table"}
    columns = given.get("columns")
    if isinstance(columns, list):
        kept["columns"] = [_with_range(column, wildcards, everywhere) for column in columns]
    return {**stated, "input": kept}


def _with_range(column: Any, wildcards: Mapping[str, Any], everywhere: Mapping[str, Any]) -> Any:
    """Return a column of numbers with the default keys that it lacks; other columns stay unchanged."""
    if not isinstance(column, dict) or column.get("kind", "number") != "number":
        return column
    name = str(column.get("name", ""))
    nearer: Mapping[str, Any] = next((r for wildcard, r in wildcards.items() if matches(name, wildcard)), {})
    return {**everywhere, **nearer, **column}
