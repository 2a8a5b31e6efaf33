"""Values that refuse what they do not know, and validation errors as sentences."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails
from difflib import get_close_matches

from pydantic import BaseModel, ConfigDict
from pydantic_core import CoreSchema, core_schema


class FrozenModel(BaseModel):
    """A value that never changes, and refuses fields that it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class OneOf:
    """Marks a text that is one of `names`, where code makes these; pydantic treats it as a `Literal`."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))

    def __str__(self) -> str:
        return f"{', '.join(self.names[:-1])} or {self.names[-1]}"


WORDS: Mapping[str, str] = {
    "missing": "it is missing",
    "extra_forbidden": "there is no such key",
    "greater_than": "must be above {gt:g}, is {given}",
    "greater_than_equal": "must be {ge:g} or more, is {given}",
    "less_than": "must be below {lt:g}, is {given}",
    "less_than_equal": "must be {le:g} or less, is {given}",
    "finite_number": "must be a finite number, is {given}",
    "float_parsing": "must be a number, is {given}",
    "float_type": "must be a number, is {given}",
    "int_parsing": "must be a whole number, is {given}",
    "int_type": "must be a whole number, is {given}",
    "int_from_float": "must be a whole number, is {given}",
    "bool_parsing": "must be true or false, is {given}",
    "bool_type": "must be true or false, is {given}",
    "string_type": "must be text, is {given}",
    "literal_error": "must be {expected}, is {given}",
}
"""What is said of a kind of error, with what pydantic knows about it."""
MAX_SHOWN = 60
"""Characters that are shown of a value."""


def first_problem(
    error: ValidationError, table: str = "", known: Iterable[str] = (), parts: Collection[str] = ()
) -> str:
    """Return the first problem and what to do about it, as the end of a sentence without its full stop.

    Entries of lists are counted from 1.

    Args:
        error: what pydantic raised.
        table: the table that was validated, where that is not the whole file.
        known: the keys that there are, of which one is suggested for a key that there is not.
        parts: fields whose keys people write beside each other, without naming the part.
    """
    first = error.errors()[0]
    place = first["loc"][1:] if first["loc"][:1] and first["loc"][0] in parts else first["loc"]
    key = [str(part + 1) if isinstance(part, int) else part for part in place]
    where = ".".join([table, *key] if table else key)
    message = problem_text(first)
    if first["type"] == "extra_forbidden":
        message += did_you_mean(key[-1], known)
    return f"{where}: {message}; correct it" if where else message


def problem_text(error: "ErrorDetails") -> str:
    """Return one error in plain words, without its place and without a full stop."""
    words = WORDS.get(error["type"])
    if words is None:
        return error["msg"].removeprefix("Value error, ").rstrip(".")
    given = repr(error["input"])
    return words.format(
        given=given if len(given) <= MAX_SHOWN else "too long to show", **error.get("ctx", {})
    )


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the known name that is closest to `name`; empty where none is close."""
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
