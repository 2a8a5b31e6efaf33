"""The version of the code that makes a number: all of this repository's modules that it imports."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]


def code_version(module: str) -> str:
    """Return a digest of a module and of all it imports from here, also in functions.

    Comments, docstrings and layout do not count: what is measured does not depend on them.
    """
    found: dict[Path, str] = {}
    waiting = [path] if (path := source_of(module)) else []
    while waiting:
        file = waiting.pop()
        if file not in found:
            found[file], imported = _read(file)
            waiting += imported
    lines = sorted(f"{file.relative_to(ROOT)} {code}" for file, code in found.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def source_of(module: str) -> Path | None:
    """Return the file of a module of this repository; none for others."""
    role, *rest = module.split(".")
    if role not in ("ostraka", "benchmarks") or not rest:
        return None
    named = ROOT.joinpath(role, *rest)
    files = (named.with_suffix(".py"), named / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def _read(file: Path) -> tuple[str, tuple[Path, ...]]:
    """Return a digest of a file's code, and the files that it imports."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    imported = tuple(source for name in _names(tree) if (source := source_of(name)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, False):
            node.body = node.body[1:]
    return hashlib.sha256(ast.dump(tree).encode()).hexdigest(), imported


def _names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def settings_of(run: Callable[..., object]) -> tuple[str, str, object]:
    """Return the module and name of a run, and the values that a `partial` of it fixes."""
    function = getattr(run, "func", run)
    return function.__module__, function.__qualname__, getattr(run, "keywords", {})
