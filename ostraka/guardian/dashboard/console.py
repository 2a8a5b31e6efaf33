"""Shared context of the console's pages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from ostraka.common.clock import Clock
from ostraka.common.config import SiteConfig
from ostraka.common.identity import Credentials
from ostraka.common.page.templates import environment
from ostraka.guardian.admin.client import admin_call
from ostraka.guardian.dashboard.filters import FILTERS
from ostraka.guardian.ledger import Cipher
from ostraka.protos.ostraka.v1 import admin_pb2_grpc

Reply = TypeVar("Reply")

_ENVIRONMENT = environment(Path(__file__).with_name("templates"), **FILTERS)


@dataclass(frozen=True)
class Console:
    """An administrator's view of one guardian.

    Attributes:
        site: the administrator's site.
        credentials: what the guardian knows it by.
        clock: tells now.
        allow_changes: whether anything may be changed.
        cipher: of the ledger's key, where the administrator gave it.
    """

    site: SiteConfig
    credentials: Credentials
    clock: Clock
    allow_changes: bool
    cipher: Cipher | None = field(repr=False, default=None)

    def ask(self, call: Callable[[admin_pb2_grpc.AdminStub], Reply]) -> Reply:
        """Return what the guardian answers; raises OstrakaError with its refusal."""
        return admin_call(self.site.folder, call)

    def now_ms(self) -> int:
        """Unix milliseconds."""
        return int(self.clock.now() * 1000)


def console_of(request: Request) -> Console:
    """Return the console that a request came to."""
    console: Console = request.app.state.console
    return console


def page(request: Request, template: str, /, *, status: int = 200, **values: Any) -> Response:
    """Return the page that a template makes of `values`."""
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
