"""Shared parts of several commands: options, and output as JSON for programs or as a table for people."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from google.protobuf.message import Message

from ostraka.common.console.cli import write_json
from ostraka.common.console.screen import Screen, table_of
from ostraka.guardian.admin.exports import plain

Site = Annotated[Path, typer.Option("--site", help="Your site folder made by `ostraka provision`.")]
GuardianSite = Annotated[Path, typer.Option("--site", help="The guardian's own site folder.")]
Json = Annotated[str | None, typer.Option("--json", help="Write the result as JSON here; - is stdout.")]
AnyParty = Annotated[str, typer.Option("--party", help="Show only this party.")]
Wide = Annotated[bool, typer.Option("--wide", help="Show every column.")]


def tell(
    found: Mapping[str, Sequence[Message]],
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    json: str | None,
) -> None:
    """Write messages as JSON if requested, and `rows` as a table unless stdout carries the JSON."""
    write_json({name: [plain(message) for message in messages] for name, messages in found.items()}, json)
    if json != "-":
        show(columns, rows)


def show(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print a table."""
    Screen().print(table_of(columns, rows))


def say(text: str, json: str | None) -> None:
    """Print a sentence unless stdout carries the JSON."""
    if json != "-":
        Screen().print(text, soft_wrap=True, highlight=False)
