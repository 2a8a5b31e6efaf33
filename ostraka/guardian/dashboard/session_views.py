"""Sessions: what was asked, under which terms, and what it cost at worst."""

from starlette.requests import Request
from starlette.responses import Response

from ostraka.guardian.admin.pages import rows_of
from ostraka.guardian.dashboard.console import console_of, page
from ostraka.guardian.dashboard.forms import done
from ostraka.protos.ostraka.v1 import admin_pb2


def sessions(request: Request) -> Response:
    """Every session, open ones first, then the newest."""
    listed = console_of(request).ask(lambda stub: list(stub.ListSessions(admin_pb2.ListSessionsRequest())))
    found = sorted(listed, key=lambda s: (s.state != "open", -s.opened_unix_s, s.session_id))
    return page(request, "sessions.html", sessions=found, done=done(request))


def session(request: Request) -> Response:
    """One session with its terms and charges."""
    session_id = request.path_params["session_id"]
    asked = admin_pb2.ShowSessionRequest(session_id=session_id)
    spent = admin_pb2.ListChargesRequest(session_id=session_id)
    reply, charges = console_of(request).ask(
        lambda stub: (stub.ShowSession(asked), list(rows_of(stub.ListCharges(spent))))
    )
    return page(
        request, "session.html", reply=reply, session=reply.session, charges=charges, done=done(request)
    )
