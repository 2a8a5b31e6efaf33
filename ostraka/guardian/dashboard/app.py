"""The console as an application: its routes, and login by one-time token."""

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.dashboard import audit_views, change_views, overview_views
from ostraka.guardian.dashboard.access import COOKIE, Door, Tokens
from ostraka.guardian.dashboard.console import Console, refusal
from ostraka.guardian.dashboard.middleware import ConsoleMiddleware, check_form

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
    """Return the console behind its guard.

    Args:
        console: the contents of the pages.
        door: decides who may see them.
        origins: the console's own origins, scheme://host:port.
    """
    routes = [
        Route("/", overview_views.overview),
        Route("/party/{site}", overview_views.party),
        Route("/sessions", overview_views.sessions),
        Route("/session/{session_id}", overview_views.session),
        Route("/policy", overview_views.policy),
        Route("/audit", audit_views.audit),
        Route("/audit/verify", audit_views.verify, methods=["POST"]),
        Route("/confidential", overview_views.confidential),
        Route("/downloads", audit_views.downloads),
        Route("/downloads/report.html", audit_views.report),
        Route("/downloads/audit.jsonl", audit_views.audit_log),
        Route("/downloads/charges.csv", audit_views.charges),
        Route("/downloads/audit-head.pb", audit_views.head),
        Route("/change/{name}", change_views.form),
        Route("/change/{name}", change_views.confirm, methods=["POST"]),
        Route("/change/{name}/apply", change_views.apply, methods=["POST"]),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    if isinstance(door, Tokens):
        routes += [Route("/enter", enter), Route("/leave", leave, methods=["POST"])]
    handlers = {OstrakaError: _refuse, HTTPException: _no_page, Exception: _fail}
    app = Starlette(routes=routes, exception_handlers=handlers)
    app.state.console = console
    app.state.door = door
    return ConsoleMiddleware(app, door, origins, refusal)


def _refuse(request: Request, error: Any) -> Response:
    """Return the page for a refusal by the guardian or the console."""
    group = str(error.code).partition(".")[0]
    return refusal(request, _STATUS.get(error.code, 403 if group == "identity" else 400), error.message)


def _fail(request: Request, error: Any) -> Response:
    """Return the page for an internal error of the console, which its guard logs."""
    return refusal(request, 500, "The console had an internal error; its log has the details.")


def _no_page(request: Request, error: Any) -> Response:
    return refusal(request, error.status_code, f"{error.detail}: the console has no such page.")


async def enter(request: Request) -> Response:
    """Exchange the token of the URL for a cookie."""
    door: Tokens = request.app.state.door
    cookie = door.enter(request.query_params.get("token", ""))
    if cookie is None:
        return refusal(
            request,
            403,
            "This URL was used already, or is not from this console; open the newest URL on its terminal.",
        )
    answer = RedirectResponse("/", status_code=303)
    answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", path="/")
    return answer


async def leave(request: Request) -> Response:
    """Forget the browser."""
    check_form(request, (await request.form()).get("csrf"))
    door: Tokens = request.app.state.door
    door.leave(request)
    answer = refusal(request, 200, "You have left the console; its terminal has the next URL.")
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
