"""Groups of commands; each command is imported only to call it, to complete it, or to show its help."""

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
        """Take a summary for the help; `completion` adds the options that install shell completion."""
        super().__init__(cls=cls or LazyGroup, help=summary, no_args_is_help=True, add_completion=completion)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Any], Any]:
        """Return the decorator that adds a function as a command, under its own name unless one is given."""
        return super().command(name, **{"cls": Command} | settings)

    def add_lazy(self, name: str, target: str, summary: str, extra: str = "") -> None:
        """Add the group or function at `target` (`module:attribute`); listing it does not import it.

        `summary` is the first line of its help, for the list. `extra` is the extra that installs packages
        needed even for its help, if there are any.
        """
        placeholder = type("Placeholder", (_Placeholder,), {"target": target, "extra": extra})
        self.command(name, help=summary, cls=placeholder)(_never_called)


class Command(TyperCommand):
    """A command that first prepares the process, as its program configured, and then calls its function."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Show the help as it is written: a table's name such as [training] is not markup."""
        from rich.markup import escape

        shown = copy(self)
        shown.params = [_with_help(param, escape) for param in self.params]
        super(Command, shown).format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Call the preparation, which is the context's object, then the function; not called for help."""
        if callable(ctx.obj):
            ctx.obj()
        return super().invoke(ctx)


def _with_help(param: Any, change: Callable[[str], str]) -> Any:
    """Return a parameter with its help changed, if it has a help."""
    text = getattr(param, "help", None)
    if text is None:
        return param
    changed = copy(param)
    changed.help = change(text)
    return changed


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are resolved, which also happens for completion."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the name, the imported command and the rest of `args`."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, import_command(command, ctx), rest


class _Placeholder(TyperCommand):
    """Stands for a command in the list of a group."""

    target = ""
    """Module and attribute of the command: `module:attribute`."""
    extra = ""
    """The extra that installs the packages of its module, in addition to those of every role."""

    def load(self, ctx: Any) -> Any:
        """Return the command; fail with a usage error if code of Ostraka that it needs is not installed.

        Raises `config.invalid` if a package of its extra is not installed.
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
    """Return the command of a placeholder; any other command is returned as it is; raises as `load`."""
    return command.load(ctx) if isinstance(command, _Placeholder) else command


def _never_called() -> None:
    """Take the place of a command's own function, which `LazyGroup` imports."""


def _as_app(target: typer.Typer | Callable[..., Any]) -> typer.Typer:
    if isinstance(target, typer.Typer):
        return target
    single = typer.Typer(add_completion=False)
    single.command(cls=Command)(target)
    return single
