"""`ostraka mechanisms`."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen

if TYPE_CHECKING:
    from ostraka.common.mechanism.listing import ListedMechanism, ListedParameter


def mechanisms(
    json: Annotated[
        str | None, typer.Option("--json", help="Write the list as JSON here; - is stdout.")
    ] = None,
) -> None:
    """List the installed mechanisms with their parameters, defaults and costs. Write a mechanism as
    NAME:PARAMETER=VALUE,..., such as --mechanism gnmax:sigma=40; parameters in brackets are optional.
    Mechanisms that release sums over records are chosen by learners, from a budget."""
    from ostraka.common.mechanism.listing import list_mechanisms

    listed = list(list_mechanisms())
    write_json([one.model_dump(mode="json") for one in listed], json)
    if json != "-":
        _show(listed, Screen())


def _show(listed: Sequence["ListedMechanism"], screen: Screen) -> None:
    for one in listed:
        screen.print(Text(_form(one), style="bold"), soft_wrap=True)
        table = Table.grid(padding=(0, 2))
        for words in _rows(one):
            table.add_row("", *words)
        screen.print(table)


def _form(one: "ListedMechanism") -> str:
    """Return how to write the mechanism."""
    needed = [f"{parameter.name}=..." for parameter in one.parameters if parameter.required]
    optional = [f"[{parameter.name}=...]" for parameter in one.parameters if not parameter.required]
    return f"{one.name}:{','.join([*needed, *optional])}" if one.parameters else one.name


def _rows(one: "ListedMechanism") -> Iterator[tuple[str, str]]:
    if one.problem is not None:
        yield "broken", one.problem
        return
    yield "does", one.meaning
    yield "releases", one.releases
    for parameter in one.parameters:
        yield parameter.name, _meaning(parameter)
    yield "costs", one.charged_as or "what its package says"


def _meaning(parameter: "ListedParameter") -> str:
    default = "" if parameter.default is None else f" Default {parameter.default}."
    return f"{parameter.meaning}{default}".strip()
