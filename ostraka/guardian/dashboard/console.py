"""Shared context of the console's pages: parts of the audit log, templates and their filters."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials, Identity
from ostraka.common.page.templates import environment
from ostraka.common.privacy.filters import filter_text
from ostraka.common.privacy.guarantees import notion
from ostraka.guardian.admin.client import admin_call, odd
from ostraka.guardian.admin.texts import (
    amount_left_text,
    budget_notion,
    day,
    event_text,
    minute,
    records_text,
    spending_text,
    unit_text,
)
from ostraka.guardian.ledger import Cipher
from ostraka.protos.ostraka.v1 import admin_pb2, admin_pb2_grpc, common_pb2

PAGE = 100
"""Rows on one page."""

RECENT = 2000
"""Number of newest rows that are searched for policies."""


def newest(
    stub: admin_pb2_grpc.AdminStub, until: int | None
) -> tuple[common_pb2.AuditHead, Sequence[admin_pb2.AuditRow]]:
    """Return the head, and the `PAGE` rows up to row `until` (None: the last one), newest first."""
    head = stub.Head(admin_pb2.HeadRequest())
    last = head.sequence if until is None else min(until, head.sequence)
    rows = _rows(stub, last - PAGE + 1, PAGE)
    return head, [row for row in reversed(rows) if row.sequence <= last]


def policies(stub: admin_pb2_grpc.AdminStub) -> Sequence[admin_pb2.AuditRow]:
    """Rows of policies that were applied, among the newest `RECENT` rows, newest first."""
    head = stub.Head(admin_pb2.HeadRequest())
    rows = _rows(stub, head.sequence - RECENT + 1, RECENT)
    return [row for row in reversed(rows) if contents_of(row).get("kind") == "policy_applied"]


def contents_of(row: admin_pb2.AuditRow) -> dict[str, Any]:
    """Return the contents of a row; raise `message.invalid` if they are not a JSON object."""
    try:
        said = json.loads(row.payload)
    except (ValueError, RecursionError) as error:
        raise odd(f"sent audit row {row.sequence} with what is not JSON") from error
    if not isinstance(said, dict):
        raise odd(f"sent audit row {row.sequence} that says nothing by name")
    return said


def _rows(stub: admin_pb2_grpc.AdminStub, first: int, count: int) -> list[admin_pb2.AuditRow]:
    found: list[admin_pb2.AuditRow] = []
    stream = stub.ExportAudit(admin_pb2.ExportAuditRequest(first=max(1, first)))
    for row in stream:
        found.append(row)
        if len(found) == count:
            stream.cancel()
            break
    return found


def number(value: float) -> str:
    """Return a number that somebody set, exactly as it was set."""
    return f"{value:g}"


def percent(part: float, whole: float) -> float:
    """Return a part of something in percent, from 0 to 100."""
    return round(100 * min(1.0, max(0.0, part / whole)), 2) if whole > 0 else 0.0


def audit_details(row: admin_pb2.AuditRow) -> Mapping[str, str]:
    """Return an audit row's fields except kind and reason, with long values shortened; its hash last."""
    said = contents_of(row)
    details = {key: _short(value) for key, value in said.items() if key not in {"kind", "reason"}}
    return details | {"hash": row.hash.hex()}


def audit_about(row: admin_pb2.AuditRow) -> str:
    """Return the unit, site, session or version that an audit row is about; empty for the whole ledger."""
    said = contents_of(row)
    if "unit" in said:
        return _unit(said["unit"])
    if "session" in said:
        return f"session {said['session']}" + (f" batch {said['batch']}" if "batch" in said else "")
    return str(said.get("site", ""))


def audit_who(row: admin_pb2.AuditRow) -> str:
    """Return the administrator or site that caused an audit row; empty if the guardian did."""
    said = contents_of(row)
    querier = said.get("querier")
    return str(said.get("by", "")) if querier is None else Identity.parse(str(querier)).site


def audit_field(row: admin_pb2.AuditRow, name: str) -> str:
    """Return one field of an audit row; empty if the row has no such field."""
    return str(contents_of(row).get(name, ""))


def _unit(named: Any) -> str:
    match named:
        case [str(party), str(group), str(adjacency)]:
            return f"{party}/{group} ({notion(adjacency)})"
    raise odd("sent an audit row about a unit without party, group and adjacency")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 120 else f"{text[:120]}…"


FILTERS: Mapping[str, Callable[..., Any]] = {
    "spent": spending_text,
    "number": number,
    "unit": unit_text,
    "event_text": event_text,
    "left": amount_left_text,
    "percent": percent,
    "day": day,
    "minute": minute,
    "records": records_text,
    "notion": budget_notion,
    "filter_text": filter_text,
    "details": audit_details,
    "about": audit_about,
    "who": audit_who,
    "field": audit_field,
}


Reply = TypeVar("Reply")

_ENVIRONMENT = environment(Path(__file__).with_name("templates"), **FILTERS)


@dataclass(frozen=True)
class Console:
    """An administrator's view of one guardian.

    Attributes:
        site: the administrator's site.
        credentials: the administrator's credentials at the guardian.
        clock: the source of the current time.
        allow_changes: whether anything may be changed.
        cipher: the cipher of the ledger's key, if the administrator gave it.
    """

    site: SiteConfig
    credentials: Credentials
    clock: Clock
    allow_changes: bool
    cipher: Cipher | None = field(repr=False, default=None)

    def ask(self, call: Callable[[admin_pb2_grpc.AdminStub], Reply]) -> Reply:
        """Return the guardian's answer; raises OstrakaError with its refusal."""
        return admin_call(self.site.folder, call)

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return int(self.clock.now() * 1000)


def console_of(request: Request) -> Console:
    """Return the console that received a request."""
    console: Console = request.app.state.console
    return console


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return the page that a template renders from `values`."""
    console = console_of(request)
    shared = {
        "federation": console.site.federation,
        "allow_changes": console.allow_changes,
        "has_key": console.cipher is not None,
        "visitor": request.scope["visitor"],
        "path": request.url.path,
        "now_ms": console.now_ms(),
    }
    return HTMLResponse(_ENVIRONMENT.get_template(template).render(shared | values), status)


def refusal(request: Request, status: int, sentence: str) -> Response:
    """Return the page for a refusal, for visitors and for anybody else."""
    known = "visitor" in request.scope
    text = _ENVIRONMENT.get_template("refused.html").render(sentence=sentence, status=status, known=known)
    return HTMLResponse(text, status)
