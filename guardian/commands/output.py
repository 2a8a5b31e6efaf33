"""How replies are shown: as JSON to programs, as a table to people."""

from collections.abc import Iterable, Sequence

from google.protobuf.message import Message
from rich.console import Console
from rich.table import Table

from common.cli import write_json
from common.notions import NOTIONS
from guardian.admin.plain import plain


def unit(party: str, group: str, adjacency: str) -> str:
    """A unit, and what its epsilons promise."""
    return f"{party}/{group} ({NOTIONS[adjacency]})"


def tell(reply: Message, columns: Sequence[str], rows: Iterable[Sequence[str]], json: str | None) -> None:
    """Write a reply as JSON where it is asked for, and its `rows` as a table unless stdout has the JSON."""
    write_json(plain(reply), json)
    if json != "-":
        show(columns, rows)


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    table = Table(*columns)
    for row in rows:
        table.add_row(*row)
    Console().print(table)


def say(text: str, json: str | None) -> None:
    """Print a sentence unless stdout has the JSON."""
    if json != "-":
        Console().print(text, soft_wrap=True, highlight=False, markup=False)
