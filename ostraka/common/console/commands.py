"""Groups of commands, each of which is imported only to call it, to complete it, or to show its help."""

from collections.abc import Callable
from copy import copy
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from ostraka.common.console.cli import not_installed


class CommandGroup(typer.Typer):
    """A group of commands: functions of its own module, and commands that are imported when they run."""

    def __init__(
        self, summary: str, *, cls: type["LazyGroup"] | None = None, completion: bool = False
    ) -> None:
        """Say what the group is for; `completion` adds the options that install a shell's."""
        super().__init__(cls=cls or LazyGroup, help=summary, no_args_is_help=True, add_completion=completion)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Return the decorator that adds a function as a command, called like it unless a name is given."""
        return super().command(name, **{"cls": Command} | settings)

    def add_lazy(self, name: str, target: str, summary: str, extra: str = "") -> None:
        """Add the group or the function at `target` (`module:attribute`), not imported to list it.

        `summary` is the first line of its help, which the list shows. `extra` is the one that brings the
        packages without which not even its help can be shown, where there are any.
        """
        placeholder = type("Placeholder", (_Placeholder,), {"target": target, "extra": extra})
        self.command(name, help=summary, cls=placeholder)(_never_called)


class Command(TyperCommand):
    """A command that first prepares the process, as its program configured, and then calls its function."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help as it is written: a table's name such as [training] is no markup."""
        from rich.markup import escape

        shown = copy(self)
        shown.params = [_with_help(param, escape) for param in self.params]
        super(Command, shown).format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Call the preparation, the context's object, then the function; help never comes here."""
        if callable(ctx.obj):
            ctx.obj()
        return super().invoke(ctx)


def _with_help(param: Any, change: Callable[[str], str]) -> Any:
    """Return a parameter with its help changed, if it has any."""
    text = getattr(param, "help", None)
    if text is None:
        return param
    changed = copy(param)
    changed.help = change(text)
    return changed


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are resolved, which their completion does too."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the imported command and the rest of `args`."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, import_command(command, ctx), rest


class _Placeholder(TyperCommand):
    """Stands for a command in the list of a group."""

    target = ""
    """Module and attribute of the command, as `module:attribute`."""
    extra = ""
    """What brings the packages that its module imports, beside those that every role has."""

    def load(self, ctx: Any) -> Any:
        """Return the command; a usage error where code of ours is not here that it needs.

        Raises `config.invalid` where a package of its extra is not.
        """
        module, _, attribute = self.target.partition(":")
        try:
            found = getattr(import_module(module), attribute)
        except ModuleNotFoundError as exc:
            if ctx.resilient_parsing:
                return self
            if not (exc.name or "").startswith("ostraka."):
                if self.extra:
                    raise not_installed(exc.name, [self.extra]) from exc
                raise
            ctx.fail(
                f"`ostraka {self.name}` needs {exc.name}, which is not here; run it where its role does."
            )
        command = get_command(_as_app(found))
        command.name = self.name
        return command


def import_command(command: Any, ctx: Any) -> Any:
    """Return the command that `command` stands for, itself where it stands for none; raises as `load`."""
    return command.load(ctx) if isinstance(command, _Placeholder) else command


def _never_called() -> None:
    """Stand for a command's own function, which `LazyGroup` imports."""


def _as_app(target: typer.Typer | Callable[..., Any]) -> typer.Typer:
    if isinstance(target, typer.Typer):
        return target
    single = typer.Typer(add_completion=False)
    single.command(cls=Command)(target)
    return single
