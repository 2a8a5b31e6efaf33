"""Views of a change: form, confirmation and result, each protected by the form's secret."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import astuple

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin import requests
from ostraka.guardian.dashboard.changes import CHANGES, Change
from ostraka.guardian.dashboard.console import Console, console_of, page
from ostraka.guardian.dashboard.middleware import check_form
from ostraka.guardian.dashboard.proposals import Proposal, Values
from ostraka.guardian.policy import parse_policy
from ostraka.protos.ostraka.v1 import admin_pb2

VALUE_MAX = 64 << 10
"""Characters of one value of a form."""


def form(request: Request) -> Response:
    """Show what a change asks for, filled in as far as the URL says."""
    return _form(request, _change(request), dict(request.query_params), "")


async def confirm(request: Request) -> Response:
    """Show what a change would do, or the form again where it would be refused."""
    change = _change(request)
    values, reason, _ = await _sent(request, change)
    return await run_in_threadpool(_confirm, request, change, values, reason)


async def apply(request: Request) -> Response:
    """Do what was confirmed, if it is still what would be done."""
    change = _change(request)
    values, reason, seen = await _sent(request, change)
    return await run_in_threadpool(_apply, request, change, values, reason, seen)


def _change(request: Request) -> Change:
    if not console_of(request).allow_changes:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            "This console shows and changes nothing; start it with --allow-changes to change something.",
        )
    name = request.path_params["name"]
    if name not in CHANGES:
        raise OstrakaError(ErrorCode.MESSAGE_INVALID, "The console knows no such change; begin at its pages.")
    return CHANGES[name]


async def _sent(request: Request, change: Change) -> tuple[Values, str, str]:
    """Return the values of a form, the reason, and the digest of what was confirmed."""
    async with request.form(max_files=1, max_fields=len(change.fields) + 3, max_part_size=VALUE_MAX) as sent:
        check_form(request, sent.get("csrf"))
        values = {field.name: await _value(sent, field.name) for field in change.fields}
        return values, str(sent.get("reason", "")), str(sent.get("seen", ""))


async def _value(sent: FormData, name: str) -> str:
    value = sent.get(name, "")
    if isinstance(value, UploadFile):
        return base64.b64encode(await value.read()).decode()
    return value.strip()


def _confirm(request: Request, change: Change, values: Values, reason: str) -> Response:
    try:
        said, proposal = _proposed(console_of(request), change, values, reason)
    except OstrakaError as error:
        return _form(request, change, {**values, "reason": reason}, error.message)
    return _confirmation(request, change, values, said, proposal, "")


def _apply(request: Request, change: Change, values: Values, reason: str, seen: str) -> Response:
    console = console_of(request)
    try:
        said, proposal = _proposed(console, change, values, reason)
        if seen != _digest(proposal):
            changed = "It changed meanwhile. This is what would happen now."
            return _confirmation(request, change, values, said, proposal, changed)
        kept = requests.reason(_attributed(request, said))
        console.ask(lambda stub: change.apply(stub, values, kept))
    except OstrakaError as error:
        return _form(request, change, {**values, "reason": reason}, error.message)
    name = request.path_params["name"]
    structlog.get_logger().info("console.changed", change=name, visitor=request.scope["visitor"].name)
    return RedirectResponse(f"{proposal.back}?done={name}", status_code=303)


def _attributed(request: Request, reason: str) -> str:
    """Return the reason, with its author where that is not the administrator that the console calls as."""
    uri = request.scope["visitor"].uri
    own = console_of(request).credentials.identity.uri
    return reason if uri in ("", own) else f"{reason} ({uri})"


def _proposed(console: Console, change: Change, values: Values, reason: str) -> tuple[str, Proposal]:
    """Return the reason as it is kept, and what would happen."""
    for field in change.fields:
        if field.required and not values[field.name]:
            raise OstrakaError(ErrorCode.MESSAGE_INVALID, f"{field.label} is missing; fill it in.")
    said = requests.reason(reason)
    return said, console.ask(lambda stub: change.propose(stub, values))


def _digest(proposal: Proposal) -> str:
    return hashlib.sha256(json.dumps(astuple(proposal)).encode()).hexdigest()


def _confirmation(
    request: Request, change: Change, values: Values, reason: str, proposal: Proposal, notice: str
) -> Response:
    return page(
        request,
        "confirm.html",
        name=request.path_params["name"],
        change=change,
        values=values,
        reason=reason,
        proposal=proposal,
        seen=_digest(proposal),
        notice=notice,
    )


def _form(request: Request, change: Change, values: Values, problem: str) -> Response:
    return page(
        request,
        "form.html",
        status=400 if problem else 200,
        name=request.path_params["name"],
        change=change,
        values=values,
        problem=problem,
        levels=_levels(console_of(request), change),
    )


def _levels(console: Console, change: Change) -> Sequence[str]:
    """Consent levels of the policy in force, where the form asks for one."""
    if not any(field.kind == "level" for field in change.fields):
        return ()
    policy = console.ask(lambda stub: stub.ShowPolicy(admin_pb2.ShowPolicyRequest()))
    return list(parse_policy(policy.toml).consent)
