"""Forms of the console, made from the fields of operations; those that have a title are asked for."""

import base64
from collections.abc import Mapping
from typing import Any, TypeAlias

from pydantic.fields import FieldInfo
from starlette.requests import Request

from ostraka.common.console.options import FileContent, mark
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.operations.operation import ConsoleOperation, invalid
from ostraka.guardian.operations.table import OPERATIONS

Values: TypeAlias = Mapping[str, str]
"""What a form sent; an uploaded file in base64."""

FORMS: Mapping[str, type[ConsoleOperation]] = {
    found.form.name: found for found in OPERATIONS if issubclass(found, ConsoleOperation)
}


def asked(operation: type[ConsoleOperation]) -> Mapping[str, FieldInfo]:
    """Return the fields that a form asks for beside the reason."""
    return {name: field for name, field in operation.model_fields.items() if field.title}


def kind(field: FieldInfo) -> str:
    """Return the type of a field's input."""
    return "file" if mark(field, FileContent) else "number" if field.annotation is float else "text"


def required(field: FieldInfo) -> bool:
    """Return whether a field may not be empty: an empty number is its default."""
    return field.is_required() or kind(field) != "number"


def filled(operation: type[ConsoleOperation], values: Values) -> ConsoleOperation:
    """Return the operation that a form asks for; the guardian checks whether values are in range.

    Raises:
        OstrakaError: `message.invalid` for a value that is missing or no number; what a file's reader raises.
    """
    given = {name: _parsed(name, field, values[name]) for name, field in asked(operation).items()}
    return operation.model_construct(**given, reason=values["reason"])


def _parsed(name: str, field: FieldInfo, text: str) -> Any:
    if required(field) and not text:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"{field.title} is missing; fill it in.")
    try:
        if content := mark(field, FileContent):
            return content.read(base64.b64decode(text, validate=True), "The file")
        return float(text or 0) if kind(field) == "number" else text
    except ValueError:
        raise invalid(f"The {name} must be a {kind(field)}") from None


def done(request: Request) -> str:
    """Return what the page says after an operation that led to it."""
    operation = FORMS.get(request.query_params.get("done", ""))
    return operation.form.done if operation else ""
