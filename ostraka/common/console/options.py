"""Command-line options made from pydantic models: one option or argument for every field."""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from rich.table import Table
from typer.models import ArgumentInfo

from ostraka.common.console.screen import Screen
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.files.durable import read_bytes
from ostraka.common.files.toml import TomlError, read_toml
from ostraka.common.validation import did_you_mean, problem_text

Mark = TypeVar("Mark")

_PARSED = (bool, int, float, str, Path)
"""Types that the command line parses; values of other types are passed as text, which the model parses."""


@dataclass(frozen=True)
class FileContent:
    """Marks a required field that is given as a file: `read` makes the value from the file's content.

    The second argument of `read` is the file's name for error messages.
    """

    read: Callable[[bytes, str], Any]


@dataclass(frozen=True)
class Completion:
    """Marks a field whose option has shell completion: `offer` returns the values with a given beginning."""

    offer: Callable[[str], list[str]]


@dataclass(frozen=True)
class SettingsKey:
    """Marks a rarely used field: it is no option, but a key of the settings file, shown by `--help-all`."""


KEY = SettingsKey()


@dataclass(frozen=True)
class ReadSettings:
    """Marks the parameter that receives the path of the settings file; options override its values.

    Its keys are the command's options, with _ for -, and the fields marked with `KEY`.
    """


SettingsFile = Annotated[Path | None, ReadSettings()]
"""The option `--settings` of a command."""


def mark(field: FieldInfo, kind: type[Mark]) -> Mark | None:
    """Return a field's mark of this kind, if it has one."""
    return next((found for found in field.metadata if isinstance(found, kind)), None)


@dataclass(frozen=True)
class OverridesOf:
    """Marks a parameter that receives a mapping of those fields of `model` that were given.

    They override values from elsewhere, such as a file. So the options have no defaults, choices or ranges,
    and a flag can only be set; the code that merges the values has the model check them.
    """

    model: type[BaseModel]

    def options(self) -> Iterator[inspect.Parameter]:
        """Yield one option for every field; its value is None if it is not given."""
        for name, field in _option_fields(self.model).items():
            plain = _without_none(field.annotation)
            kind = plain if plain in _PARSED else str
            flag = (f"--{name.replace('_', '-')}",) if plain is bool else ()
            yield _option(
                name,
                kind | None,
                None,
                typer.Option(*flag, help=field.description, autocompletion=_offer(field)),
            )

    def collect(self, values: dict[str, Any], keys: Collection[str]) -> dict[str, Any]:
        """Return the values that were given; the code that merges them also reads the `keys` of a file."""
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class _InstanceOf:
    """A parameter that receives an instance of `model`."""

    model: type[BaseModel]

    def options(self) -> Iterator[inspect.Parameter]:
        """Yield one option or argument for every field, with its default, its choices and its range."""
        for name, field in _option_fields(self.model).items():
            plain = Path if mark(field, FileContent) else _without_none(field.annotation)
            kind = plain if plain in _PARSED or get_origin(plain) is Literal else str
            info = mark(field, ArgumentInfo) or typer.Option(
                help=field.description,
                min=_limit(field, "ge"),
                max=_limit(field, "le"),
                autocompletion=_offer(field),
            )
            if field.is_required():
                yield _option(name, kind, inspect.Parameter.empty, info)
            else:
                yield _option(name, kind if plain is field.annotation else kind | None, field.default, info)

    def collect(self, values: dict[str, Any], keys: Collection[str]) -> BaseModel:
        """Return the model of these values; raise a usage error naming an option that it refuses.

        Raises:
            OstrakaError: `config.invalid` for a value of one of the settings file's `keys`, `data.missing`
                for a file that cannot be read, and any error of its reader.
        """
        for name, field in self.model.model_fields.items():
            if content := mark(field, FileContent):
                values[name] = content.read(read_bytes(values[name]), str(values[name]))
        try:
            return self.model.model_validate(values)
        except ValidationError as exc:
            first = exc.errors()[0]
            refused = str(first["loc"][0]) if first["loc"] else ""
            problem = problem_text(first)
            if refused in keys:
                raise _invalid(f"Key {refused} of the settings file: {problem}; correct it.") from exc
            option = f"--{refused.replace('_', '-')}" if refused else None
            raise typer.BadParameter(problem, param_hint=option) from exc


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option or argument for every field of the pydantic models among its parameters.

    A parameter annotated with a model receives an instance of it, and one annotated with `OverridesOf` a
    mapping. The option's name, type, choices, range, default and help are those of the field. A field
    annotated with `typer.Argument` becomes an argument instead. A field marked with `KEY` becomes neither:
    `--help-all` shows it, and a parameter annotated with `SettingsFile` reads it.
    """
    options: list[inspect.Parameter] = []
    sources: dict[str, OverridesOf | _InstanceOf] = {}
    keys: dict[str, FieldInfo] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        source = _source(parameter.annotation)
        if source is not None:
            sources[parameter.name] = source
            options += source.options()
            keys |= settings_keys(source.model)
        elif _reads_settings(parameter.annotation):
            options.append(_option(parameter.name, Path | None, None, _settings_option(keys)))
        else:
            options.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
    if keys:
        options.append(_option(_HELP_ALL, bool, False, _help_all_option(keys)))
        options.append(inspect.Parameter(_CONTEXT, inspect.Parameter.KEYWORD_ONLY, annotation=typer.Context))

    @wraps(command)
    def run(**values: Any) -> None:
        values.pop(_HELP_ALL, None)
        context = values.pop(_CONTEXT, None)
        read = {} if context is None else context.meta.get(_READ, {})
        made: dict[str, Any] = {}
        for name, source in sources.items():
            fields = flat_fields(source.model)
            given = {field: values.pop(field) for field in fields if field in values}
            # Keys of the file that this model has; those of other models are collected with them.
            given |= {field: value for field, value in read.items() if field in fields}
            made[name] = source.collect(given, keys)
        command(**values, **made)

    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.settings_keys = keys  # type: ignore[attr-defined]
    return run


_HELP_ALL = "help_all"
_CONTEXT = "context_of_settings"
_READ = "ostraka.settings_keys"
"""Name under which click's context keeps the keys that a settings file gave."""


def part_models(model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    """Return the parts of a model that are models themselves, except those that are given as a file."""
    return {
        name: field.annotation
        for name, field in model.model_fields.items()
        if inspect.isclass(field.annotation)
        and issubclass(field.annotation, BaseModel)
        and not mark(field, FileContent)
    }


def flat_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model by name; its parts are replaced by their fields."""
    parts = part_models(model)
    own = {name: field for name, field in model.model_fields.items() if name not in parts}
    return {name: field for part in parts.values() for name, field in part.model_fields.items()} | own


def settings_keys(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Return the fields of a model that are not options but keys of the settings file."""
    return {name: field for name, field in flat_fields(model).items() if mark(field, SettingsKey)}


def _option_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {name: field for name, field in flat_fields(model).items() if not mark(field, SettingsKey)}


def _reads_settings(annotation: Any) -> bool:
    return any(isinstance(one, ReadSettings) for one in getattr(annotation, "__metadata__", ()))


def _settings_option(keys: Mapping[str, FieldInfo]) -> Any:
    """Return the option that reads the settings file before any other option is read."""

    def read(ctx: typer.Context, path: Path | None) -> Path | None:
        if path is None or ctx.resilient_parsing:
            return path
        values = _read_settings(path)
        # A settings file must not name another settings file or ask for help.
        options = {one.name for one in ctx.command.params} - {"settings", _HELP_ALL}
        for name, value in values.items():
            if name not in options and name not in keys:
                meant = did_you_mean(name, (*sorted(filter(None, options)), *keys))
                raise _invalid(f"{path}: there is no such key {name}{meant}; `--help-all` shows all.")
            if isinstance(value, dict):
                raise _invalid(f"{path}: {name} must be one value, not a table; correct it.")
        ctx.meta[_READ] = {name: value for name, value in values.items() if name in keys}
        ctx.default_map = {name: _as_typed(value) for name, value in values.items() if name in options}
        return path

    return typer.Option(
        "--settings", is_eager=True, callback=read, help="TOML file with any of these options as keys."
    )


def _as_typed(value: Any) -> Any:
    """Return a value of a settings file in the form of the command line: a list with commas."""
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _read_settings(path: Path) -> dict[str, Any]:
    try:
        return read_toml(path)
    except OSError as error:
        raise _invalid(f"Cannot read {path}: {error.strerror}; give --settings an existing file.") from error
    except TomlError as error:
        raise _invalid(f"{path} {error}; correct it.") from error


def _help_all_option(keys: Mapping[str, FieldInfo]) -> Any:
    def show(ctx: typer.Context, asked: bool) -> None:
        if not asked or ctx.resilient_parsing:
            return
        typer.echo(ctx.get_help())
        table = Table(title="Keys of the settings file alone", show_header=False, title_justify="left")
        for name, field in keys.items():
            table.add_row(name, key_text(field))
        Screen().print(table)
        raise typer.Exit

    return typer.Option(
        "--help-all",
        is_eager=True,
        callback=show,
        help="Show this help with the keys of the settings file, and exit.",
    )


def key_text(field: FieldInfo) -> str:
    """Return the description of a key of the settings file, with its default."""
    if field.default is None or "default" in (field.description or ""):
        return field.description or ""
    default = str(field.default).lower() if isinstance(field.default, bool) else field.default
    return f"{field.description} [default: {default}]"


def _source(annotation: Any) -> OverridesOf | _InstanceOf | None:
    """Return the source of a parameter's value if it comes from options of a model."""
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        return _InstanceOf(annotation)
    marks = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    return next((mark for mark in marks if isinstance(mark, OverridesOf)), None)


def _option(name: str, kind: Any, default: Any, info: Any) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=Annotated[kind, info])


def _without_none(annotation: Any) -> Any:
    """Return the type of a given value: `X` of `X | None`."""
    if get_origin(annotation) not in (Union, UnionType):
        return annotation
    others = [one for one in get_args(annotation) if one is not NoneType]
    return others[0] if len(others) == 1 else annotation


def _offer(field: FieldInfo) -> Callable[[str], list[str]] | None:
    """Return the function that completes a field's option, if there is one."""
    completed = mark(field, Completion)
    return None if completed is None else completed.offer


def _limit(field: FieldInfo, bound: Literal["ge", "le"]) -> float | None:
    return next((getattr(mark, bound) for mark in field.metadata if hasattr(mark, bound)), None)


def _invalid(sentence: str) -> OstrakaError:
    return OstrakaError(ErrorCode.CONFIG_INVALID, sentence)
