"""Login by one-time token, and logout."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ostraka.guardian.dashboard.access import COOKIE, Tokens
from ostraka.guardian.dashboard.console import refusal
from ostraka.guardian.dashboard.middleware import check_form


async def enter(request: Request) -> Response:
    """Swap the token of the URL for a cookie."""
    door: Tokens = request.app.state.door
    cookie = door.enter(request.query_params.get("token", ""))
    if cookie is None:
        return refusal(
            request, 403, "This URL was used, or is none of the console's; open the one on its terminal."
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
