"""A question before something is set for a party that the guardian does not know."""

import sys
from pathlib import Path

import typer

from ostraka.common.did_you_mean import did_you_mean
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.client import admin_call
from ostraka.protos.ostraka.v1 import admin_pb2


def require_known(site: Path, party: str) -> None:
    """Ask whether `party` is meant where the guardian does not know it; at no terminal, refuse.

    Raises:
        OstrakaError: `party.unknown` where it is not, or where nobody can be asked.
    """
    request = admin_pb2.ListPartiesRequest()
    known = admin_call(site, lambda stub: [info.site for info in stub.ListParties(request)])
    if party in known:
        return
    names = f"It knows {', '.join(known)}" if known else "None has registered or was added"
    problem = f"The guardian knows no party {party}{did_you_mean(party, known)}. {names}."
    if is_terminal() and typer.confirm(f"{problem} Set it for a party to come?", err=True):
        return
    raise OstrakaError(
        ErrorCode.PARTY_UNKNOWN, f"{problem} Nothing was set; for a party that is to come, add --new."
    )


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()
