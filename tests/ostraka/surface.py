"""The public interface as text: names, parameters and their defaults, attributes. `python -m` writes it."""

import inspect
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import Any

import ostraka

FILE = Path(__file__).with_name("surface.txt")
MODULES = ("accounting", "datasets", "mechanisms", "students")


def surface() -> str:
    """Return a line for each public name, and one for each public member of a class."""
    modules = [ostraka, *(getattr(ostraka, name) for name in MODULES)]
    return "".join(f"{line}\n" for module in modules for line in _module(module))


def _module(module: Any) -> Iterator[str]:
    for name in sorted(module.__all__):
        if name not in MODULES:
            yield from _value(f"{module.__name__}.{name}", getattr(module, name))


def _value(name: str, value: Any) -> Iterator[str]:
    if not inspect.isclass(value):
        yield f"{name}{_parameters(value)}" if inspect.isfunction(value) else name
    elif issubclass(value, Enum):
        yield from (f"{name}.{member.name} = {member.value}" for member in value)
    else:
        yield f"{name}{_parameters(value)}"
        yield from _members(name, value)


def _members(name: str, owner: type) -> Iterator[str]:
    """Describe members that the class itself or one of its base classes in Ostraka defines."""
    for member in sorted(dir(owner)):
        home = next((base for base in owner.__mro__ if member in vars(base)), owner)
        if member.startswith("_") or not home.__module__.startswith("ostraka"):
            continue
        found = inspect.getattr_static(owner, member)
        if isinstance(found, staticmethod | classmethod):
            found = found.__func__
        if inspect.isfunction(found):
            yield f"{name}.{member}{_parameters(found)}"
        elif hasattr(found, "__get__"):
            yield f"{name}.{member}"


def _parameters(called: Any) -> str:
    try:
        signature = inspect.signature(called)
    except ValueError:
        return ""
    told = [
        each.replace(annotation=inspect.Parameter.empty, default=_default(each))
        for each in signature.parameters.values()
        if each.name not in ("self", "cls")
    ]
    return str(signature.replace(parameters=told, return_annotation=inspect.Signature.empty))


def _default(parameter: inspect.Parameter) -> Any:
    """Replace a function by its name, which is stable, unlike its address."""
    default = parameter.default
    return default.__name__ if inspect.isfunction(default) else default


if __name__ == "__main__":
    FILE.write_text(surface())
