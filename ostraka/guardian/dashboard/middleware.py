"""Middleware of the console: checks and headers of every request and response."""

import hmac
from collections.abc import Callable
from typing import Any

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.dashboard.access import Door, Visitor

MAX_BODY_BYTES = 1 << 20
"""Largest size of a request's body in bytes."""

OPEN = ("/static/", "/enter")
"""Paths that are shown without a login."""

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self';"
        " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    # Not no-referrer: browsers would then send forms without their origin.
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}

Refuse = Callable[[Request, int, str], Response]
"""Makes the page of a refusal from its status and one sentence."""


class ConsoleMiddleware:
    """Wraps the whole application: host, origin, visitor, size of bodies, headers of answers."""

    def __init__(self, app: ASGIApp, door: Door, origins: frozenset[str], refuse: Refuse) -> None:
        self._app = app
        self._door = door
        self._origins = origins
        self._refuse = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; an error is logged, and the connection just ends."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answering = _with_headers(send)
        request = Request(scope)
        refusal = self._refusal(request)
        try:
            if refusal is None:
                await self._app(scope, _limit(receive), answering)
            else:
                await refusal(scope, receive, answering)
        except Exception as error:
            log = structlog.get_logger()
            log.error("console.internal", error=type(error).__name__, path=request.url.path)

    def _refusal(self, request: Request) -> Response | None:
        """Return the refusal of a request before any page sees it, or None."""
        origin = f"{request.scope['scheme']}://{request.headers.get('host', '')}"
        if origin not in self._origins:
            return self._refuse(request, 421, "The console is not served under this name; open its own URL.")
        if request.method not in {"GET", "HEAD", "POST"}:
            return self._refuse(request, 405, "The console accepts only GET and POST.")
        if request.method == "POST" and request.headers.get("origin") != origin:
            return self._refuse(request, 403, "The console accepts forms only from its own pages.")
        if _length(request.headers) > MAX_BODY_BYTES:
            return self._refuse(
                request,
                413,
                f"A form or file may have at most {MAX_BODY_BYTES >> 20} MiB; send a smaller one.",
            )
        if request.url.path.startswith(OPEN):
            return None
        return self._admit(request)

    def _admit(self, request: Request) -> Response | None:
        try:
            visitor = self._door.visitor(request)
        except OstrakaError as error:
            return self._refuse(request, 403, error.message)
        if visitor is None:
            return self._refuse(
                request, 401, "Open the URL that the console wrote on its terminal; each one works once."
            )
        request.scope["visitor"] = visitor
        return None


def check_form(request: Request, csrf: object) -> None:
    """Refuse a form that was not made for this visitor.

    Raises:
        OstrakaError: `identity.invalid`.
    """
    visitor: Visitor = request.scope["visitor"]
    if not isinstance(csrf, str) or not hmac.compare_digest(visitor.csrf.encode(), csrf.encode()):
        raise OstrakaError(
            ErrorCode.IDENTITY_INVALID, "The form was not made by this console for you; open the page again."
        )


def _with_headers(send: Send) -> Send:
    """Add the common headers to every answer."""

    async def answering(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return answering


def _limit(receive: Receive) -> Receive:
    """Limit bodies to `MAX_BODY_BYTES` bytes, whatever length they claim."""
    taken = 0

    async def receive_some() -> Any:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BODY_BYTES:
            raise OstrakaError(
                ErrorCode.MESSAGE_TOO_LARGE,
                f"A form or file may have at most {MAX_BODY_BYTES >> 20} MiB; send a smaller one.",
            )
        return message

    return receive_some


def _length(headers: Headers) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isascii() and text.isdigit() else 0
