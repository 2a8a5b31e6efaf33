"""Pydantic's validation errors as sentences."""

from pydantic import ValidationError


def first_problem(error: ValidationError, table: str = "") -> str:
    """Return the first problem and what to do about it, as the end of a sentence without its full stop.

    Entries of lists are counted from 1.

    Args:
        error: what pydantic raised.
        table: the table that was validated, where that is not the whole file.
    """
    first = error.errors()[0]
    key = [str(part + 1) if isinstance(part, int) else part for part in first["loc"]]
    where = ".".join([table, *key] if table else key)
    unknown = first["type"] == "extra_forbidden"
    message = "there is no such key" if unknown else first["msg"].removeprefix("Value error, ").rstrip(".")
    return f"{where}: {message}; correct it" if where else message
