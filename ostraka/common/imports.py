"""Helpers to import lazily, and to import many modules fast."""

import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any


def lazy_names(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package; `homes` gives the module of each name, relative to the package.

    The name of a module itself has the empty string.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = import_module(f"{package}.{homes[name] or name}")
        return getattr(home, name) if homes[name] else home

    return find


@contextmanager
def hide(name: str) -> Iterator[None]:
    """Let nothing import this module within the block, unless it was imported before."""
    if name in sys.modules:
        yield
        return
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]


@contextmanager
def without_collection() -> Iterator[None]:
    """Pause garbage collection within the block: it takes a quarter of an import, in vain."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()
