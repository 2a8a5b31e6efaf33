"""The version of the code behind a number: all definitions of this repository that it depends on."""

import hashlib
from collections.abc import Callable
from functools import cache

from benchmarks.reproduce.definitions import Definition, Name, read_module, source_of


@cache
def code_version(module: str, name: str) -> str:
    """Return a digest of a definition and of everything that it uses, directly or not.

    A definition's position in the repository does not count. Uses by text alone are not found.
    """
    lines = sorted(f"{named.name} {one.code}" for named, one in dependencies(module, name).items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def dependencies(module: str, name: str) -> dict[Name, Definition]:
    """Return a definition and everything that it depends on.

    A module's registrations during import count if the registered thing does.
    """
    found = dict[Name, Definition]()
    imported = set[str]()
    waiting = [Name(module, name)]
    while waiting:
        for named in _resolve(waiting.pop()):
            if named not in found:
                found[named] = _read(named)
                waiting += found[named].names
                _import(named.module, imported)
        if not waiting:
            waiting += _register(imported, found)
    return found


@cache
def _read(named: Name) -> Definition:
    module = read_module(named.module)
    assert module
    return module.define(named.name)


def _resolve(named: Name) -> list[Name]:
    """Return the definitions that a name refers to, following imports; for a module, all of it."""
    module = read_module(named.module)
    if module is None:
        return []
    if not named.name:
        if named.attribute:
            return _resolve(Name(named.module, named.attribute))
        return [Name(named.module, one) for one in module.bound]
    if named.name in module.bound:
        return [Name(named.module, named.name)]
    alias = module.aliases.get(named.name)
    if alias is None or alias == (named.module, named.name, ""):
        return _resolve(Name(f"{named.module}.{named.name}", attribute=named.attribute))
    return _resolve(alias._replace(attribute=named.attribute))


def _import(name: str, imported: set[str]) -> None:
    """Add the modules that importing one imports, with their packages."""
    parts = name.split(".")
    for module in (".".join(parts[:end]) for end in range(1, len(parts) + 1)):
        found = read_module(module)
        if found is None or module in imported:
            continue
        imported.add(module)
        for alias in found.aliases.values():
            _import(alias.module, imported)
            if alias.name and source_of(f"{alias.module}.{alias.name}"):
                _import(f"{alias.module}.{alias.name}", imported)


def _register(imported: set[str], found: dict[Name, Definition]) -> list[Name]:
    """Add the registrations of imported modules that count by now; return the names in them."""
    names: list[Name] = []
    for module in sorted(imported):
        read = read_module(module)
        assert read
        for place, one in enumerate(read.registrations):
            named = Name(module, "", f"registration {place}")
            if named not in found and (one.on is None or any(on in found for on in _resolve(one.on))):
                found[named] = read.define_registration(place)
                names += found[named].names
    return names


def settings_of(run: Callable[..., object]) -> tuple[str, str, object]:
    """Return the module and name of a run, and the values that a `partial` of it fixes."""
    function = getattr(run, "func", run)
    return function.__module__, function.__qualname__, getattr(run, "keywords", {})
