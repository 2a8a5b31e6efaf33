"""Times as people read them, in UTC."""

from datetime import UTC, datetime


def day(unix_s: int) -> str:
    """Return a date; empty for zero."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d}" if unix_s else ""


def minute(unix_ms: int) -> str:
    """Return a time to the minute."""
    return f"{datetime.fromtimestamp(unix_ms / 1000, UTC):%Y-%m-%d %H:%M}"
