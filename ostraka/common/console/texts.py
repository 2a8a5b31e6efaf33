"""Words, numbers and lists in the form in which all commands print them."""

from collections.abc import Sequence

GRAMMAR = "NAME[:PARAMETER=VALUE,...]"
"""Notation of a mechanism; docs/mechanisms.md explains it."""


def epsilon_text(value: float) -> str:
    """Return a computed epsilon with at most four significant digits, such as 9.92 or 0.0801."""
    return f"{value:.4g}" if value < 1000 else f"{value:.0f}"


def number_text(value: float) -> str:
    """Return a configured number in the form in which it was written, such as 10 or 1e-5."""
    return f"{value:g}".replace("e-0", "e-").replace("e+0", "e+")


def count_text(count: int, one: str, many: str | None = None) -> str:
    """Return a number and what is counted, such as 1 record or 2 queries; `many` defaults to `one` with s."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"


MAX_LISTED = 20
"""Maximum number of items of a list that a sentence names."""


def list_words(things: Sequence[str], separator: str = ", ", *, most: int = MAX_LISTED) -> str:
    """Return the first items of a list, and how many more there are."""
    more = len(things) - most
    return separator.join(things[:most]) + (f" and {more} more" if more > 0 else "")
