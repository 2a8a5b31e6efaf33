"""Command-line options made from pydantic models: one option or argument for every field."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import typer
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from typer.models import ArgumentInfo

from ostraka.common.files.durable import read_bytes
from ostraka.common.validation import problem_text

Mark = TypeVar("Mark")

_PARSED = (bool, int, float, str, Path)
"""Types that the command line parses; a value of another type is given as text, which the model parses."""


@dataclass(frozen=True)
class FileContent:
    """Marks a required field that is given as a file: `read` makes its value of the content.

    `read` also takes what to call the file in an error.
    """

    read: Callable[[bytes, str], Any]


@dataclass(frozen=True)
class Completion:
    """Marks a field whose option a shell completes: `offer` returns what begins with what was typed."""

    offer: Callable[[str], list[str]]


def mark(field: FieldInfo, kind: type[Mark]) -> Mark | None:
    """Return a field's mark of this kind, if it has one."""
    return next((found for found in field.metadata if isinstance(found, kind)), None)


@dataclass(frozen=True)
class OverridesOf:
    """Marks a parameter that receives, as a mapping, those fields of `model` that were given.

    They override values from elsewhere, such as a file. So the options have no defaults, choices or ranges,
    and a flag can only be set: whoever merges the values has the model check them.
    """

    model: type[BaseModel]

    def options(self) -> Iterator[inspect.Parameter]:
        """Yield one option for every field, None where it is not given."""
        for name, field in self.model.model_fields.items():
            plain = _without_none(field.annotation)
            kind = plain if plain in _PARSED else str
            flag = (f"--{name.replace('_', '-')}",) if plain is bool else ()
            yield _option(
                name,
                kind | None,
                None,
                typer.Option(*flag, help=field.description, autocompletion=_offer(field)),
            )

    def collect(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the values that were given."""
        return {name: value for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class _InstanceOf:
    """A parameter that receives an instance of `model`."""

    model: type[BaseModel]

    def options(self) -> Iterator[inspect.Parameter]:
        """Yield one option or argument for every field, with its default, its choices and its range."""
        for name, field in self.model.model_fields.items():
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

    def collect(self, values: dict[str, Any]) -> BaseModel:
        """Return the model of these values; raise a usage error that names a refused option.

        Raises:
            OstrakaError: `data.missing` for a file that cannot be read, or what its reader raises.
        """
        for name, field in self.model.model_fields.items():
            if content := mark(field, FileContent):
                values[name] = content.read(read_bytes(values[name]), str(values[name]))
        try:
            return self.model.model_validate(values)
        except ValidationError as exc:
            first = exc.errors()[0]
            option = "--" + str(first["loc"][0]).replace("_", "-") if first["loc"] else None
            problem = problem_text(first)
            raise typer.BadParameter(problem, param_hint=option) from exc


def model_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command one option or argument for every field of the pydantic models among its parameters.

    A parameter annotated with a model receives an instance of it, and one annotated with `OverridesOf` a
    mapping. The option's name, type, choices, range, default and help are those of the field. A field
    annotated with `typer.Argument` is an argument instead.
    """
    options: list[inspect.Parameter] = []
    sources: dict[str, OverridesOf | _InstanceOf] = {}
    for parameter in inspect.signature(command, eval_str=True).parameters.values():
        source = _source(parameter.annotation)
        if source is None:
            options.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
        else:
            sources[parameter.name] = source
            options += source.options()

    @wraps(command)
    def run(**values: Any) -> None:
        made = {
            name: source.collect({field: values.pop(field) for field in source.model.model_fields})
            for name, source in sources.items()
        }
        command(**values, **made)

    run.__annotations__ = {option.name: option.annotation for option in options}
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def _source(annotation: Any) -> OverridesOf | _InstanceOf | None:
    """Where a parameter's value comes from, if from options of a model."""
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
    """Return what completes a field's option, if it is completed."""
    completed = mark(field, Completion)
    return None if completed is None else completed.offer


def _limit(field: FieldInfo, bound: Literal["ge", "le"]) -> float | None:
    return next((getattr(mark, bound) for mark in field.metadata if hasattr(mark, bound)), None)
