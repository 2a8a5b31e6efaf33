"""Lists in sentences that stay short."""

from collections.abc import Sequence

MOST = 20
"""Things of a list that a sentence names."""


def listed(things: Sequence[str], separator: str = ", ", *, most: int = MOST) -> str:
    """Return the first things of a list, and how many more there are."""
    more = len(things) - most
    return separator.join(things[:most]) + (f" and {more} more" if more > 0 else "")
