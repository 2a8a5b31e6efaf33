"""Times as people read them, in UTC."""

from datetime import UTC, date, datetime, timedelta


def day(unix_s: int) -> str:
    """Return a date; empty for zero."""
    return f"{datetime.fromtimestamp(unix_s, UTC):%Y-%m-%d}" if unix_s else ""


def minute(unix_ms: int) -> str:
    """Return a time to the minute."""
    return f"{datetime.fromtimestamp(unix_ms / 1000, UTC):%Y-%m-%d %H:%M}"


def span(first: date | None, last: date | None) -> tuple[int, int]:
    """Return two days as unix milliseconds, the end of the last one not included; 0 means open."""
    return _unix_ms(first), _unix_ms(last and last + timedelta(days=1))


def _unix_ms(day: date | None) -> int:
    return 0 if day is None else int(datetime(day.year, day.month, day.day, tzinfo=UTC).timestamp() * 1000)
