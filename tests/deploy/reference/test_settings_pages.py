"""Every key of every model that reads a file of settings is on a page, with what it says."""

import ast
from pathlib import Path

import pytest

from ostraka.common.config import SECTIONS
from ostraka.deploy.images.locks import ROOT
from ostraka.deploy.reference.settings_pages import FEDERATION, SIMULATION, SITE, Section, key_texts, pages

LEAD_READS_ONE_KEY = "TrainingTable"
"""A part of what `TrainingSection` reads."""


def read_sections(path: Path) -> set[tuple[str, str]]:
    """Return name and model of the tables that a module reads."""
    code = path.read_text()
    if "load_section(" not in code:
        return set()
    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    read = [call.args for call in calls if getattr(call.func, "id", "") == "load_section"]
    return {(name.value, model.id) for _, name, model in read}  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "section", [*SITE, *FEDERATION, *SIMULATION], ids=lambda section: section.model.__name__
)
def test_every_key_says_something(section: Section) -> None:
    texts = key_texts(section.model)
    silent = [
        key
        for key, field in section.model.model_fields.items()
        if not field.exclude and not texts.get(key, "").endswith((".", ")"))
    ]
    assert silent == []


def test_every_key_is_on_a_page() -> None:
    made = pages()
    for name, sections in (
        ("site.md", SITE),
        ("federation.md", FEDERATION),
        ("simulation-file.md", SIMULATION),
    ):
        for section in sections:
            _, _, after = made[name].partition(f"## {section.heading}\n")
            here = after.partition("\n## ")[0]
            keys = [key for key, field in section.model.model_fields.items() if not field.exclude]
            assert [row.split("`")[1] for row in here.splitlines() if row.startswith("| `")] == keys


def test_every_table_of_a_site_file_has_a_section() -> None:
    read = {pair for path in (ROOT / "ostraka").rglob("*.py") for pair in read_sections(path)}
    assert {name for name, _ in read} == SECTIONS
    models = {section.model.__name__ for section in SITE}
    assert {model for _, model in read} - {LEAD_READS_ONE_KEY} <= models


def test_types_and_defaults_are_in_words() -> None:
    made = pages()["site.md"]
    assert "| `min_quorum` | integer, >= 1, &lt;= 10,000 | `2` |" in made
    assert "| `consent` | table of number, > 0, &lt;= 1,000,000 | `none` |" in made
    assert '| `admission` | `"certified"`, `"added"` | `"certified"` |' in made
    assert "| `federation` | text | required |" in made
