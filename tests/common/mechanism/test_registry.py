"""Registry, protocol, documentation and the guardian's rules name the same mechanisms."""

import ast
import re
from pathlib import Path

import pytest

from ostraka.common.mechanism import MECHANISMS
from ostraka.common.mechanism.message import INSTALLED
from ostraka.guardian.mechanisms import RULES
from ostraka.protos.ostraka.v1 import common_pb2

ROOT = Path(__file__).parents[3]
BY_TYPE = {
    "ostraka/client/run/labelling.py": "its own student's labels are used, with a parameter of Interactive",
    "ostraka/client/describing/describing.py": "its plan is of one kind, whose noise it keeps",
    "ostraka/common/planning/search/forecast.py": "a search looks at mechanisms that it can forecast",
    "ostraka/deploy/advice/votes.py": "advice draws releases of what a search found",
    "ostraka/services/sums/question_checks.py": "counts are one block, whose columns the plan pays for",
}
"""Files that tell mechanisms apart by their type, for a reason."""


def test_the_protocol_has_a_message_for_each() -> None:
    fields = common_pb2.Mechanism.DESCRIPTOR.oneofs_by_name["kind"].fields
    assert {field.name for field in fields} == {*MECHANISMS, INSTALLED}


def test_the_guardian_has_a_rule_for_each() -> None:
    assert RULES.keys() == set(MECHANISMS.values())


@pytest.mark.parametrize("kind", MECHANISMS)
def test_the_documentation_has_each(kind: str) -> None:
    page = (ROOT / "docs" / "mechanisms.md").read_text()
    assert re.search(rf"`{kind}`", page)


@pytest.mark.parametrize(("kind", "known"), MECHANISMS.items())
def test_each_has_a_file_of_its_name(kind: str, known: type) -> None:
    assert known.__module__ == f"ostraka.common.mechanism.{kind}"
    assert known.model_fields["kind"].default == kind  # type: ignore[attr-defined]


@pytest.mark.heavy
def test_no_other_file_tells_mechanisms_apart_by_their_type() -> None:
    names = {known.__name__ for known in MECHANISMS.values()}
    found = {
        f"{path.relative_to(ROOT)}: {ast.unparse(node)[:80]}"
        for path in (ROOT / "ostraka").rglob("*.py")
        if not {"mechanism", "mechanisms"} & set(path.parts) and str(path.relative_to(ROOT)) not in BY_TYPE
        for node in ast.walk(ast.parse(path.read_text()))
        if _types_of(node) & names
    }
    assert found == set()


def _types_of(node: ast.AST) -> set[str]:
    """Return the names of the types that a test by type looks for."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        return {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
    if isinstance(node, ast.MatchClass):
        return {ast.unparse(node.cls)}
    return set()
