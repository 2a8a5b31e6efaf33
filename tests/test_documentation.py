"""What pages promise about the repository."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
PAPER = re.compile(r"00[0-4](?<![\w.,]00[0-4])(?![\d.])")
"""A paper by its number in the list that the project started from."""
CODE = ("ostraka", "benchmarks")


def test_every_public_module_has_its_section_in_the_api() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    modules = [path.stem for path in (ROOT / "ostraka").glob("*.py") if not path.stem.startswith("_")]
    told = re.findall(r"^::: (ostraka\S*)$", page, re.MULTILINE)
    assert {"ostraka", *(f"ostraka.{name}" for name in modules)} <= set(told)


def test_papers_are_cited_by_author_and_year() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    code = (path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name)
    cited = {str(path.relative_to(ROOT)): PAPER.findall(path.read_text()) for path in (*pages, *code)}
    assert {name: found for name, found in cited.items() if found} == {}


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (project["version"], project["license"])
