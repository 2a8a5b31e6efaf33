"""Packages whose names are imported when they are used first, so that what needs one needs not all."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` has the module of each name, below the package.

    A name without one, "", is a module itself.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name] or name}")
        return getattr(home, name) if homes[name] else home

    return find
