"""Modules of this repository as definitions: the code of each name, and the names in that code."""

import ast
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
NO_NUMBERS = (
    "ostraka.protos",
    "ostraka.common.console",
    "ostraka.common.errors",
    "ostraka.common.telemetry",
    "ostraka.common.tls_minimum",
)
"""Packages that no measured number depends on: messages, refusals and texts for people."""
FOR_PEOPLE = ("description", "help")
"""Arguments that only people read."""


class Name(NamedTuple):
    """A name in code.

    Attributes:
        module: where the code looks for it.
        name: its name there; empty for the module itself.
        attribute: the attribute that is used, in case it is a module.
    """

    module: str
    name: str = ""
    attribute: str = ""


@dataclass(frozen=True)
class Definition:
    """Statements that define a name.

    Attributes:
        code: their digest, without comments, docstrings, annotations of functions, texts of refusals and
            origins of imports.
        names: the names that they use, except in refusals.
    """

    code: str
    names: frozenset[Name]


@dataclass(frozen=True)
class Registration:
    """A statement that defines nothing, but acts on something when the module is imported.

    Attributes:
        on: what it acts on, or registers; None if unknown.
        statement: the statement.
    """

    on: Name | None
    statement: ast.stmt


@dataclass(frozen=True)
class Module:
    """The effects of importing a module.

    Attributes:
        bound: statements that define a name, by name.
        aliases: names bound by imports.
        known: meaning of each name, imported or defined.
        registrations: in order.
    """

    bound: Mapping[str, Sequence[ast.stmt]]
    aliases: Mapping[str, Name]
    known: Mapping[str, Name]
    registrations: Sequence[Registration]

    def define(self, name: str) -> Definition:
        """Return the definition of a name."""
        return _define(self.bound[name], self.known)

    def define_registration(self, place: int) -> Definition:
        """Return the definition of one of its registrations."""
        return _define([self.registrations[place].statement], self.known)


def source_of(module: str) -> Path | None:
    """Return the file of a module of this repository that may matter; None for others."""
    role, *rest = module.split(".")
    if role not in ("ostraka", "benchmarks") or any(is_within(module, one) for one in NO_NUMBERS):
        return None
    named = ROOT.joinpath(role, *rest)
    files = (named.with_suffix(".py"), named / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def is_within(module: str, package: str) -> bool:
    """Whether a module is a package or is inside it."""
    return module == package or module.startswith(f"{package}.")


@cache
def read_module(module: str) -> Module | None:
    """Return a module's definitions; None if it is not in this repository."""
    file = source_of(module)
    if file is None:
        return None
    statements = [
        one
        for one in ast.parse(file.read_text(encoding="utf-8")).body
        if not _is_text(one) and not _is_guard(one)
    ]
    bound = dict[str, list[ast.stmt]]()
    for statement in statements:
        for name in _bindings(statement):
            bound.setdefault(name, []).append(statement)
    aliases = _aliases(statements)
    known = aliases | {name: Name(module, name) for name in bound}
    registrations = [
        Registration(_acts_on(one, known), one)
        for statement in statements
        if _acts(statement)
        for one in _calls_apart(statement)
    ]
    return Module(bound, aliases, known, registrations)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _calls_apart(statement: ast.stmt) -> list[ast.stmt]:
    """Return a call for each argument if tuples are unpacked into a call; else the statement itself."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return [statement]
    spread = [one.value for one in call.args if isinstance(one, ast.Starred)]
    tuples = [one for one in spread if isinstance(one, ast.Tuple)]
    if len(tuples) < len(call.args) or not tuples:
        return [statement]
    return [ast.Expr(ast.Call(call.func, [one], call.keywords)) for many in tuples for one in many.elts]


def _is_guard(statement: ast.stmt) -> bool:
    """Whether a statement runs only in a program, or never: `if __name__ ...`, `if TYPE_CHECKING`."""
    if not isinstance(statement, ast.If):
        return False
    named = {node.id for node in ast.walk(statement.test) if isinstance(node, ast.Name)}
    return bool(named & {"__name__", "TYPE_CHECKING"})


def _acts(statement: ast.stmt) -> bool:
    """Whether a statement does more than define; a loop may, whatever names it binds."""
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return False
    return isinstance(statement, ast.For | ast.While | ast.With) or not any(_bindings(statement))


def _bindings(statement: ast.stmt) -> Iterator[str]:
    """Yield the names that a statement of a module defines; imported ones only next to other names."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def _aliases(statements: list[ast.stmt]) -> dict[str, Name]:
    """Return what imports bind, except those in functions and classes."""
    scopes = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    open_ = [one for one in statements if not isinstance(one, scopes)]
    return {alias: name for one in open_ for alias, name in _imports(one)}


def _imports(tree: ast.AST) -> Iterator[tuple[str, Name]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name.split(".")[0], Name(alias.name)) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((alias.asname or alias.name, Name(node.module, alias.name)) for alias in node.names)


def _define(statements: Sequence[ast.stmt], known: Mapping[str, Name]) -> Definition:
    names = set[Name]()
    code = hashlib.sha256()
    for statement in statements:
        bare = _Bare().visit(ast.parse(ast.unparse(statement)))
        code.update(ast.dump(bare).encode())
        finder = _Finder({**known, **dict(_imports(statement))})
        finder.visit(bare)
        names |= finder.found
    return Definition(code.hexdigest()[:16], frozenset(names))


def _acts_on(statement: ast.stmt, known: Mapping[str, Name]) -> Name | None:
    """Return the first argument of a call, else the method's object or the assigned object."""
    node: ast.AST = statement
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        node = call.args[0] if call.args and isinstance(call.args[0], ast.Name) else call.func
    elif isinstance(node, ast.Assign | ast.Delete):
        node = node.targets[0]
    elif isinstance(node, ast.AugAssign):
        node = node.target
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return known.get(node.id) if isinstance(node, ast.Name) else None


class _Bare(ast.NodeTransformer):
    """Removes what no number depends on."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if _is_text(node) else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        for argument in ast.walk(node.args):
            if isinstance(argument, ast.arg):
                argument.annotation = None
        return self.generic_visit(node)

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_keyword(self, node: ast.keyword) -> ast.AST | None:
        return None if node.arg in FOR_PEOPLE else self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        for part in ast.walk(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                part.value = ""
        return node

    def visit_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        return None

    visit_ImportFrom = visit_Import  # noqa: N815


class _Finder(ast.NodeVisitor):
    """Finds names in code, except those used only in refusals, where there is no number."""

    def __init__(self, known: Mapping[str, Name]) -> None:
        self.known = known
        self.found = set[Name]()

    def visit_Raise(self, node: ast.Raise) -> None:
        pass

    def visit_Attribute(self, node: ast.Attribute) -> None:
        named = self.known.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if named is None:
            self.generic_visit(node)
        else:
            self.found.add(named._replace(attribute=node.attr))

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.known and isinstance(node.ctx, ast.Load):
            self.found.add(self.known[node.id])
