"""Operations in the console: form, confirmation and result, each protected by the form's secret."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from typing import Any, TypeAlias

import structlog
from pydantic.fields import FieldInfo
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ostraka.common.console.options import FileContent, mark
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin import requests
from ostraka.guardian.dashboard.console import Console, console_of, page
from ostraka.guardian.dashboard.middleware import check_form
from ostraka.guardian.operations.operation import ConsoleOperation, invalid
from ostraka.guardian.operations.table import OPERATIONS
from ostraka.guardian.policy import parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2

Values: TypeAlias = Mapping[str, str]
"""The values of a form; an uploaded file is in base64."""

FORMS: Mapping[str, type[ConsoleOperation]] = {
    found.form.name: found for found in OPERATIONS if issubclass(found, ConsoleOperation)
}


def fields_of(operation: type[ConsoleOperation]) -> Mapping[str, FieldInfo]:
    """Return the fields of a form, except the reason."""
    return {name: field for name, field in operation.model_fields.items() if field.title}


def kind(field: FieldInfo) -> str:
    """Return the type of a field's input."""
    return "file" if mark(field, FileContent) else "number" if field.annotation is float else "text"


def is_required(field: FieldInfo) -> bool:
    """Return whether a field must be filled in; numbers with a default and texts with default "" need not."""
    return field.is_required() or (kind(field) != "number" and field.default != "")


def fill(operation: type[ConsoleOperation], values: Values) -> ConsoleOperation:
    """Return the operation that a form describes; the guardian checks whether values are in range.

    Raises:
        OstrakaError: `message.invalid` for a missing value or one that is not a number; what a file's reader
            raises.
    """
    given = {name: _parse(name, field, values[name]) for name, field in fields_of(operation).items()}
    return operation.model_construct(**given, reason=values["reason"])


def _parse(name: str, field: FieldInfo, text: str) -> Any:
    if is_required(field) and not text:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"{field.title} is missing; fill it in.")
    try:
        if content := mark(field, FileContent):
            return content.read(base64.b64decode(text, validate=True), "The file")
        return float(text or 0) if kind(field) == "number" else text
    except ValueError:
        raise invalid(f"The {name} must be a {kind(field)}") from None


def result_text(request: Request) -> str:
    """Return the message of the page after an operation that led to it."""
    operation = FORMS.get(request.query_params.get("done", ""))
    return operation.form.done if operation else ""


MAX_VALUE_CHARS = 64 << 10
"""Largest number of characters of one value of a form."""


def form(request: Request) -> Response:
    """Show the form of an operation, with the values that the URL gives."""
    return _form(request, _operation(request), dict(request.query_params), "")


async def confirm(request: Request) -> Response:
    """Show what an operation would do, or the form again if it would be refused."""
    operation = _operation(request)
    values, _ = await _read_form(request, operation)
    return await run_in_threadpool(_apply, request, operation, values, None)


async def apply(request: Request) -> Response:
    """Do what was confirmed, unless its effect has changed meanwhile."""
    operation = _operation(request)
    values, seen = await _read_form(request, operation)
    return await run_in_threadpool(_apply, request, operation, values, seen)


def _operation(request: Request) -> type[ConsoleOperation]:
    if not console_of(request).allow_changes:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            "This console is read-only; start it with --allow-changes to allow changes.",
        )
    name = request.path_params["name"]
    if name not in FORMS:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "The console has no such change; start from its pages.")
    return FORMS[name]


async def _read_form(request: Request, operation: type[ConsoleOperation]) -> tuple[Values, str]:
    """Return the values of a form, with its reason, and the digest of what was confirmed."""
    names = (*fields_of(operation), "reason")
    # Besides the fields, a form sends its secret and the digest of the preview.
    async with request.form(max_files=1, max_fields=len(names) + 2, max_part_size=MAX_VALUE_CHARS) as sent:
        check_form(request, sent.get("csrf"))
        return {name: await _value(sent, name) for name in names}, str(sent.get("seen", ""))


async def _value(sent: FormData, name: str) -> str:
    value = sent.get(name, "")
    if isinstance(value, UploadFile):
        return base64.b64encode(await value.read()).decode()
    return value.strip()


def _apply(request: Request, operation: type[ConsoleOperation], values: Values, seen: str | None) -> Response:
    """Apply what was seen; show it first if nothing was seen, or if it has changed since."""
    console = console_of(request)
    form = operation.form
    try:
        given = fill(operation, values)
        reason = requests.reason(values["reason"])
        preview = console.ask(given.preview)
        digest = hashlib.sha256(json.dumps(astuple(preview)).encode()).hexdigest()
        if seen != digest:
            return page(
                request,
                "confirm.html",
                form=form,
                values=values,
                preview=preview,
                seen=digest,
                changed=seen is not None,
            )
        # Checked again with its author, which makes it longer.
        kept = requests.reason(_attribute(request, reason))
        console.ask(given.model_copy(update={"reason": kept}).send)
    except OstrakaError as error:
        return _form(request, operation, values, error.message)
    structlog.get_logger().info("console.changed", change=form.name, visitor=request.scope["visitor"].name)
    return RedirectResponse(f"{preview.back}?done={form.name}", status_code=303)


def _attribute(request: Request, reason: str) -> str:
    """Return the reason, with its author if that is not the console's own administrator."""
    uri = request.scope["visitor"].uri
    own = console_of(request).credentials.identity.uri
    return reason if uri in ("", own) else f"{reason} ({uri})"


def _form(request: Request, operation: type[ConsoleOperation], values: Values, problem: str) -> Response:
    return page(
        request,
        "form.html",
        status=400 if problem else 200,
        form=operation.form,
        fields=fields_of(operation),
        kind=kind,
        required=is_required,
        values=values,
        problem=problem,
        levels=_levels(console_of(request), operation),
        known=_find_known(console_of(request), operation),
    )


def _find_known(console: Console, operation: type[ConsoleOperation]) -> Mapping[str, Sequence[str]]:
    """Return names to choose from, for each field of the form that has them."""
    if "party" not in operation.model_fields:
        return {}
    parties = console.ask(lambda stub: list(stub.ListParties(admin_pb2.ListPartiesRequest())))
    groups = {group.name for info in parties for group in info.groups}
    return {"party": [info.site for info in parties], "group": sorted(groups)}


def _levels(console: Console, operation: type[ConsoleOperation]) -> Sequence[str]:
    """Consent levels of the policy in force, if the form has such a field."""
    if "level" not in operation.model_fields:
        return ()
    policy = console.ask(lambda stub: stub.ShowPolicy(admin_pb2.ShowPolicyRequest()))
    return list(parse_policy(policy.toml).consent)
