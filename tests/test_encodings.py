"""Files are UTF-8 whatever the locale: Windows and containers without one have others."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1] / "ostraka"
TEXT = {"read_text", "write_text"}


def test_texts_are_read_and_written_in_a_named_encoding() -> None:
    unnamed = [
        f"{file.relative_to(ROOT)}:{node.lineno}"
        for file in sorted(ROOT.rglob("*.py"))
        if b"_text(" in file.read_bytes()
        for node in ast.walk(ast.parse(file.read_bytes()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in TEXT
        if not any(keyword.arg == "encoding" for keyword in node.keywords)
    ]
    assert not unnamed
