"""Models that refuse unknown fields, and sentences for validation errors."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, get_args

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import CoreSchema, core_schema

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class FrozenModel(BaseModel):
    """An immutable model that refuses unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class OneOf:
    """Marks a text as one of `names`, for names that code computes; pydantic treats it as a `Literal`."""

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
    "string_too_short": "must be text of {min_length} or more characters, is {given}",
    "string_too_long": "must be text of at most {max_length} characters",
    "string_pattern_mismatch": "is {given}, which has characters that it may not have",
    "too_short": "must have {min_length} or more entries, has {actual_length}",
    "too_long": "must have at most {max_length} entries",
    "literal_error": "must be {expected}, is {given}",
    "enum": "must be {expected}, is {given}",
    "union_tag_invalid": "{discriminator} must be one of {expected_tags}, is '{tag}'",
    "union_tag_not_found": "{discriminator} is missing",
    **dict.fromkeys(("list_type", "tuple_type", "set_type", "frozen_set_type"), "must be a list, is {given}"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be a table, is {given}"),
    **dict.fromkeys(
        ("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"),
        "must be a day such as 2026-12-31, is {given}",
    ),
}
"""Message for each kind of error; pydantic's values are filled in."""
MAX_SHOWN = 60
"""Maximum number of characters shown of a value."""


PYDANTICS = frozenset(get_args(core_schema.ErrorType)) - {"value_error", "assertion_error"}
"""Kinds of errors with pydantic's own sentences, which are never shown; all other sentences are Ostraka's."""


def first_problem(
    error: ValidationError,
    table: str = "",
    known: Iterable[str] = (),
    *,
    data: object = None,
    parts: Collection[str] = (),
) -> str:
    """Return the first problem and what to do about it, as the end of a sentence without its full stop.

    Args:
        error: the error that pydantic raised.
        table: the table that was validated, if it is not the whole file.
        known: the known keys; one of them is suggested in place of an unknown key.
        data: the validated data, if they contain lists or a value of one of several kinds.
        parts: fields whose keys are written side by side, without the name of the part.
    """
    errors = error.errors()
    first = errors[0]
    place = first["loc"][1:] if first["loc"][:1] and first["loc"][0] in parts else first["loc"]
    where = place_text({**first, "loc": place}, data, table)
    message = problem_text(first)
    if first["type"] == "extra_forbidden":
        message += did_you_mean(str(first["loc"][-1]), known)
    if first["type"] == "missing":
        message += _unknown_beside(first, errors)
    return f"{where}: {message}; correct it" if where else message


def _unknown_beside(missing: "ErrorDetails", errors: Iterable["ErrorDetails"]) -> str:
    """Return the first unknown key of the table in which a key is missing, which may be that key misspelt."""
    *table, key = missing["loc"]
    for error in errors:
        *place, unknown = error["loc"] or ("",)
        if error["type"] == "extra_forbidden" and place == table:
            return f", and there is no key {unknown}{did_you_mean(str(unknown), [str(key)])}"
    return ""


def place_text(error: "ErrorDetails", data: object = None, table: str = "") -> str:
    """Return the place of an error in `data` as its author sees it: keys, and entries counted from 1.

    Parts of the location that pydantic adds, such as the kind that a value was compared with, are left out.
    An entry with a name is called by it: `input.columns, entry 2 ('age'), min`. Without `data`, every part is
    shown.
    """
    place = table
    here: Any = data
    location = error["loc"]
    # For a missing key the last part of the location is that key, which the data do not have.
    missing = len(location) - 1 if error["type"] == "missing" else None
    unknown = data is None
    for depth, part in enumerate(location):
        if isinstance(part, int):
            here = here[part] if isinstance(here, list | tuple) and part < len(here) else None
            name = here.get("name") if isinstance(here, dict) else None
            place += f", entry {part + 1}" if place else f"entry {part + 1}"
            place += f" ('{name}')" if isinstance(name, str) and name else ""
        elif unknown or (isinstance(here, dict) and (part in here or depth == missing)):
            here = None if unknown else here.get(part)
            separator = "" if not place else ", " if place.endswith(")") or place[-1].isdigit() else "."
            place += f"{separator}{part}"
    return place


def problem_text(error: "ErrorDetails") -> str:
    """Return one error in plain words, without its place and without a full stop."""
    given = repr(error["input"])
    shown = given if len(given) <= MAX_SHOWN else "too long to show"
    kind = error["type"]
    if kind in ("too_short", "too_long") and isinstance(error["input"], str):
        kind = f"string_{kind}"
    words = WORDS.get(kind)
    if words is not None:
        return words.format(given=shown, **error.get("ctx", {}))
    if error["type"] in PYDANTICS:
        return f"cannot be {shown}"
    return error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ").rstrip(".")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` (did you mean X?)` for the known name that is closest to `name` in any case, if any is."""
    folded = {other.casefold(): other for other in known}
    close = get_close_matches(name.casefold(), folded, n=1)
    return f" (did you mean {folded[close[0]]}?)" if close else ""
