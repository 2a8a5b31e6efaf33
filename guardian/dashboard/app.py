"""The console as an application: which page is where."""

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.dashboard import audit, changing, downloads, overview, sessions
from ostraka.guardian.dashboard.access import Door, Tokens
from ostraka.guardian.dashboard.console import Console, refusal
from ostraka.guardian.dashboard.entering import enter, leave
from ostraka.guardian.dashboard.guard import Guard

STATIC = Path(__file__).with_name("static")

_STATUS = {
    ErrorCode.BUDGET_MISSING: 404,
    ErrorCode.PARTY_UNKNOWN: 404,
    ErrorCode.POLICY_REFUSED: 403,
    ErrorCode.SESSION_UNKNOWN: 404,
    ErrorCode.MESSAGE_TOO_LARGE: 413,
    ErrorCode.SERVER_UNREACHABLE: 502,
}


def make_app(console: Console, door: Door, origins: frozenset[str]) -> ASGIApp:
    """The console behind its guard.

    Args:
        console: what the pages show.
        door: who may see them.
        origins: the console's own, scheme://host:port.
    """
    routes = [
        Route("/", overview.overview),
        Route("/party/{site}", overview.party),
        Route("/sessions", sessions.sessions),
        Route("/session/{session_id}", sessions.session),
        Route("/policy", overview.policy),
        Route("/audit", audit.audit),
        Route("/audit/verify", audit.verify, methods=["POST"]),
        Route("/downloads", downloads.downloads),
        Route("/downloads/report.html", downloads.report),
        Route("/downloads/audit.jsonl", downloads.audit_log),
        Route("/downloads/charges.csv", downloads.charges),
        Route("/downloads/audit-head.pb", downloads.head),
        Route("/change/{name}", changing.form),
        Route("/change/{name}", changing.confirm, methods=["POST"]),
        Route("/change/{name}/apply", changing.apply, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    if isinstance(door, Tokens):
        routes += [Route("/enter", enter), Route("/leave", leave, methods=["POST"])]
    handlers = {OstrakaError: _refused, HTTPException: _no_page, Exception: _failed}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.console, app.state.door = console, door
    return Guard(app, door, origins, refusal)


def _refused(request: Request, error: Any) -> Response:
    """The page of what the guardian, or the console, refused."""
    group = str(error.code).partition(".")[0]
    return refusal(request, _STATUS.get(error.code, 403 if group == "identity" else 400), error.message)


def _failed(request: Request, error: Any) -> Response:
    """The page of a mistake of the console's own, which its guard logs."""
    return refusal(request, 500, "The console met an error of its own; its log names it.")


def _no_page(request: Request, error: Any) -> Response:
    return refusal(request, error.status_code, f"{error.detail}: the console has no such page.")
