"""What votes cost, for an administrator who started the console with the ledger's key."""

from starlette.requests import Request
from starlette.responses import Response

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.confidential import MARK, read_totals
from ostraka.guardian.admin.confidential_page import confidential_row
from ostraka.guardian.dashboard.console import console_of, page


def confidential(request: Request) -> Response:
    """Show every unit's data-dependent total, marked; refused where the console has no key."""
    console = console_of(request)
    cipher = console.cipher
    if cipher is None:
        raise OstrakaError(
            ErrorCode.POLICY_REFUSED,
            "What votes cost is shown with the ledger's key alone; start the console with --ledger-key FILE.",
        )
    units = console.ask(lambda stub: read_totals(stub, cipher))
    return page(
        request, "confidential.html", mark=MARK, units=[list(confidential_row(unit)) for unit in units]
    )
