"""Counts of style violations that must not increase, in the code of `ostraka` and `benchmarks`.

`python -m tests.style` prints every place; tests/test_style.py holds the counts.
"""

from __future__ import annotations

import ast
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from io import StringIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PACKAGES = ("ostraka", "benchmarks")
IRREGULAR = re.compile(
    "begun|born|bought|bound|broken|brought|built|chosen|done|drawn|driven|fallen|felt|forgotten|found|frozen|given"
    "|gone|grown|held|hidden|kept|known|laid|left|lent|lost|made|meant|met|paid|proven|said|seen|sent|shown|sold"
    "|sought|spent|spoken|taken|taught|thought|told|torn|understood|withdrawn|won|worn|written"
)
"""Participles that do not end in "ed", without those that are also verbs, like read and set."""
VERBS = frozenset({"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed", "succeed"})
"""Words that end in "ed" and are not participles."""
UNITS = re.compile(r"(^|_)(NS|US|MS|S|H|DAYS?|BITS?|BYTES|KIB|MIB|GIB|KB|MB|PERCENT)(_|$)")
"""Endings of constants that name their unit."""


class Place(NamedTuple):
    """Where a finding is, and what it is."""

    file: str
    line: int
    name: str

    def __str__(self) -> str:
        """Return it in the form that editors and terminals link."""
        return f"{self.file}:{self.line}: {self.name}"


def sources() -> Iterator[tuple[str, str]]:
    """Yield the path from the root, and the text, of each handwritten module."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "_pb2" not in path.name:
                yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def is_participle(name: str) -> bool:
    """Whether a function's name begins with a participle instead of a verb."""
    first = name.strip("_").partition("_")[0]
    return bool(IRREGULAR.fullmatch(first)) or (first.endswith("ed") and first not in VERBS)


def participles(file: str, text: str) -> Iterator[Place]:
    """Yield functions that are named by participles; properties may be named like this."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or not is_participle(node.name):
            continue
        if not any("property" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield Place(file, node.lineno, node.name)


def packed(file: str, text: str) -> Iterator[Place]:
    """Yield assignments of several values to several names, each of which deserves a line."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Tuple):
            continue
        if any(isinstance(target, ast.Tuple) for target in node.targets):
            yield Place(file, node.lineno, ast.unparse(node.targets[0]))


def unexplained(file: str, text: str) -> Iterator[Place]:
    """Yield named numbers without an explanation: no docstring, no comment, no unit in the name."""
    body = ast.parse(text).body
    commented = comments_by_line(text)
    for statement, after in zip(body, [*body[1:], None], strict=True):
        target = _target(statement)
        if (
            target is None
            or not isinstance(statement, ast.Assign | ast.AnnAssign)
            or not _is_number(statement)
        ):
            continue
        told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        near = {statement.lineno - 1, *range(statement.lineno, (statement.end_lineno or 0) + 1)}
        if not told and not near & commented and not UNITS.search(target.upper()):
            yield Place(file, statement.lineno, target)


def least_and_most(file: str, text: str) -> Iterator[Place]:
    """Yield constants that limit something and are not called MAX or MIN."""
    for statement in ast.parse(text).body:
        target = _target(statement)
        if target and target.isupper() and re.search(r"(^|_)(MOST|LEAST)(_|$)", target):
            yield Place(file, statement.lineno, target)


def comments_by_line(text: str) -> set[int]:
    """Return the lines that have a comment for people."""
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    return {
        token.start[0]
        for token in tokens
        if token.type == tokenize.COMMENT and not re.match(r"#\s*(noqa|type:|pragma|!)", token.string)
    }


def comments(file: str, text: str) -> Iterator[Place]:
    """Yield lines that give a reason."""
    yield from (Place(file, line, "") for line in sorted(comments_by_line(text)))


def design(file: str, text: str) -> Iterator[Place]:
    """Yield mentions of a document that the repository does not have."""
    for number, line in enumerate(text.split("\n"), 1):
        if re.search(r"\bDESIGN\b", line):
            yield Place(file, number, line.strip())


COUNTS = {
    function.__name__: function
    for function in (participles, packed, unexplained, least_and_most, comments, design)
}


def places(count: str) -> list[Place]:
    """Return every place that a count counts."""
    return [place for file, text in sources() for place in COUNTS[count](file, text)]


def _target(statement: ast.stmt) -> str | None:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return targets[0].id if len(targets) == 1 and isinstance(targets[0], ast.Name) else None


def _is_number(statement: ast.stmt) -> bool:
    """Whether a statement names a number, or an expression of numbers."""
    value = getattr(statement, "value", None)
    allowed = (ast.BinOp, ast.UnaryOp, ast.Constant, ast.operator, ast.unaryop)
    nodes = list(ast.walk(value)) if value else []
    numbers = [node for node in nodes if isinstance(node, ast.Constant)]
    return (
        bool(numbers)
        and all(isinstance(node, allowed) for node in nodes)
        and all(type(node.value) in (int, float) for node in numbers)
    )


def main(names: Iterable[str]) -> None:
    """Print the places of these counts, or the number of places of each."""
    asked = list(names)
    for name in asked or COUNTS:
        found = places(name)
        print(*(found if asked else []), f"{name}: {len(found)}", sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
