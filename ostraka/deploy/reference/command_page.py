"""The page of the command line: every command with its arguments and options, as in `--help`."""

from collections.abc import Iterator
from typing import Any

from typer import Context
from typer.main import get_command

from ostraka.common.console.commands import import_command
from ostraka.common.console.options import key_text
from ostraka.deploy.cli import app
from ostraka.deploy.reference.markdown import cell, table

_HEAD = """\
# Every command

What `--help` says, of every command. What each is for, exit statuses and output are in
[commands](../commands.md). `--help` itself is an option of all.
"""


def page() -> str:
    """Return the page as Markdown."""
    return "\n".join([_HEAD, *_sections(get_command(app), "ostraka", None)])


def _sections(command: Any, name: str, parent: Context | None) -> Iterator[str]:
    """Yield the section of a command, then the sections of its subcommands."""
    ctx = Context(command, parent=parent, info_name=name)
    yield _section(command, ctx)
    for child, listed in getattr(command, "commands", {}).items():
        if not listed.hidden:
            yield from _sections(import_command(listed, ctx), child, ctx)


def _section(command: Any, ctx: Context) -> str:
    level = max(2, 1 + ctx.command_path.count(" "))
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    told = " ".join((command.help or "").split())
    return f"{'#' * level} `{ctx.command_path}`\n\n{told}\n\n    {usage}\n\n{_parameters(command, ctx)}"


def _parameters(command: Any, ctx: Context) -> str:
    """Return a table of arguments and options, and one of keys; empty if there are none."""
    records = [one.get_help_record(ctx) for one in command.get_params(ctx) if one.name != "help"]
    rows = [(f"`{name}`", cell(told)) for name, told in filter(None, records)]
    options = table(("option", "what it says"), rows) if rows else ""
    keys = getattr(command.callback, "settings_keys", {})
    told = [(f"`{name}`", cell(key_text(field))) for name, field in keys.items()]
    return f"{options}\n{table(('key of the settings file', 'what it says'), told)}" if told else options
