"""Commands that are built from the table of operations."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ostraka.common.console.options import model_options
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.guardian.admin.client import admin_call, unknown_party
from ostraka.guardian.commands.options_and_output import Json, Site
from ostraka.guardian.operations.operation import Operation
from ostraka.guardian.operations.table import OPERATIONS

Yes = Annotated[bool, typer.Option("--yes", help="Confirm the removal, which is final.")]
New = Annotated[bool, typer.Option("--new", help="Accept a party that has not registered yet.")]


Show = Callable[[Any, str | None], None]
"""Writes a guardian's reply, also as JSON if the second argument names a destination for it."""


def add_operations(app: typer.Typer, group: str, show: Show, **by_verb: Show) -> None:
    """Add a command for every operation of a group.

    `by_verb` names the functions that write replies of some operations; `show` writes the rest.
    """
    for operation in OPERATIONS:
        of, _, verb = operation.command.rpartition(" ")
        if of == group:
            app.command(verb)(command_of(operation, by_verb.get(verb, show)))


def command_of(operation: type[Operation], show: Show) -> Callable[..., None]:
    """Return the command that carries out an operation; `show` writes the reply."""

    def command(site: Site, given: Operation, json: Json = None) -> None:
        show(admin_call(site, given.send), json)

    def final(site: Site, given: Operation, yes: Yes = False, json: Json = None) -> None:
        if not yes:
            problem = given.final.format_map(dict(given))
            raise OstrakaError(ErrorCode.CONFIG_INVALID, f"{problem}; add --yes to confirm.")
        command(site, given, json)

    def for_party(site: Site, given: Operation, new: New = False, json: Json = None) -> None:
        if not new:
            require_known(site, dict(given)["party"])
        command(site, given, json)

    made: Callable[..., None] = final if operation.final else for_party if operation.names_party else command
    made.__annotations__["given"] = operation
    made.__doc__ = operation.__doc__
    return model_options(made)


def require_known(site: Path, party: str) -> None:
    """Ask for confirmation if the guardian does not know `party`; without a terminal, refuse.

    Raises:
        OstrakaError: `party.unknown` if the answer is no, or if nobody can be asked.
    """
    problem = unknown_party(site, party)
    if not problem or (
        is_terminal()
        and typer.confirm(f"{problem} Set it for a party that has not registered yet?", err=True)
    ):
        return
    raise OstrakaError(
        ErrorCode.PARTY_UNKNOWN,
        f"{problem} Nothing was set; for a party that has not registered yet, add --new.",
    )


def is_terminal() -> bool:
    """Whether a person can be asked on this terminal."""
    return sys.stdin.isatty()
