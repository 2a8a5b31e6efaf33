"""Imports of what is used alone, and of much at once."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
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


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no garbage within the block: a quarter of an import is looking, and modules are none."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
