"""Suggestions for a name that is misspelt."""

from collections.abc import Iterable
from difflib import get_close_matches


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the known name that is closest to `name`; empty where none is close."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
