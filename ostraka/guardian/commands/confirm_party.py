"""A question before something is set for a party that the guardian does not know."""

import sys
from pathlib import Path

import typer

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.known_party import unknown_party


def require_known(site: Path, party: str) -> None:
    """Ask whether `party` is meant where the guardian does not know it; at no terminal, refuse.

    Raises:
        OstrakaError: `party.unknown` where it is not, or where nobody can be asked.
    """
    problem = unknown_party(site, party)
    if not problem or (is_terminal() and typer.confirm(f"{problem} Set it for a party to come?", err=True)):
        return
    raise OstrakaError(
        ErrorCode.PARTY_UNKNOWN, f"{problem} Nothing was set; for a party that is to come, add --new."
    )


def is_terminal() -> bool:
    """Whether somebody can be asked."""
    return sys.stdin.isatty()
