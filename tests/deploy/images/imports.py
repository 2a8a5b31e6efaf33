"""Which packages code can import, found by reading it; imports within functions count too."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ostraka.deploy.images.locks import ROOT

OURS = "ostraka"


@cache
def outside(folders: tuple[str, ...]) -> dict[str, set[str]]:
    """Find third-party packages and our modules that import them, reachable from `folders`."""
    waiting = [_module(file) for folder in folders for file in (ROOT / OURS / folder).rglob("*.py")]
    read: set[str] = set()
    found: dict[str, set[str]] = {}
    while waiting:
        module = waiting.pop()
        file = _file(module)
        if module in read or file is None:
            continue
        read.add(module)
        for imported in _imports(module, file):
            top = imported.partition(".")[0]
            if top == OURS:
                waiting.extend(_with_parents(imported))
            elif top not in sys.stdlib_module_names:
                found.setdefault(top, set()).add(module)
    return found


def _imports(module: str, file: Path) -> Iterator[str]:
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            ancestors = package.split(".")[: -(node.level - 1) or None] if node.level else []
            base = ".".join([*ancestors, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names if base.partition(".")[0] == OURS)


def _with_parents(module: str) -> Iterator[str]:
    """Yield a module and its packages below `ostraka`, which itself imports only what it is asked for."""
    parts = module.split(".")
    yield from (".".join(parts[:end]) for end in range(2, len(parts) + 1))


def _module(file: Path) -> str:
    return ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _file(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split("."))
    return next((file for file in (path / "__init__.py", path.with_suffix(".py")) if file.is_file()), None)
