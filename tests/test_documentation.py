"""What pages promise about the repository."""

import re
import tomllib
from pathlib import Path

import yaml

from ostraka import __version__

ROOT = Path(__file__).parent.parent
PAPER = re.compile(r"00[0-4](?<![\w.,]00[0-4])(?![\d.])")
"""A paper by its number in the list that the project started from."""
CODE = ("ostraka", "benchmarks")
BASES = (ROOT, ROOT / "ostraka")


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them, and those it sets itself."""
    text = page.read_text(encoding="utf-8")
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    made = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    return made | set(re.findall(r'<a id="([^"]+)">', text))


def test_every_public_module_has_its_section_in_the_api() -> None:
    page = (ROOT / "docs" / "api.md").read_text()
    modules = [path.stem for path in (ROOT / "ostraka").glob("*.py") if not path.stem.startswith("_")]
    told = re.findall(r"^::: (ostraka\S*)$", page, re.MULTILINE)
    assert {"ostraka", *(f"ostraka.{name}" for name in modules)} <= set(told)


def test_files_that_maps_name_exist() -> None:
    """Maps name files from the root or, where they say so, below `ostraka/`."""
    text = "".join((ROOT / page).read_text() for page in ("docs/architecture.md", "CONTRIBUTING.md"))
    named = set(re.findall(r"`(\w[\w./-]*/[\w.-]+\.(?:py|toml|json))`", text))
    assert [name for name in sorted(named) if not any((base / name).is_file() for base in BASES)] == []
    assert len(named) > 100


def test_anchors_that_code_names_exist() -> None:
    code = (path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name)
    named = {found for path in code for found in re.findall(r"docs/([\w-]+\.md)#([\w-]+)", path.read_text())}
    missing = [f"{page}#{anchor}" for page, anchor in named if anchor not in anchors(ROOT / "docs" / page)]
    assert missing == []
    assert named


def test_papers_are_cited_by_author_and_year() -> None:
    pages = (ROOT / "docs").rglob("*.md")
    code = (path for folder in CODE for path in (ROOT / folder).rglob("*.py") if "_pb2" not in path.name)
    cited = {str(path.relative_to(ROOT)): PAPER.findall(path.read_text()) for path in (*pages, *code)}
    assert {name: found for name, found in cited.items() if found} == {}


def test_the_citation_is_of_this_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (__version__, project["license"])
