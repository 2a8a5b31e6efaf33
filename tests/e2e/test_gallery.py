"""docs/gallery: every page's commands work as they stand, and every page has its picture.

With OSTRAKA_GALLERY_PICTURES, a folder, pictures of these runs are written there, as by test_tutorial.py.
"""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ostraka.deploy.simulation.processes import Start
from tests.e2e import gallery, walkthrough

LINK = re.compile(r"!\[(.*?)\]\((.*?)\)")
MOST_WORDS = 400


def pages() -> list[Path]:
    """Return all pages of the gallery but its index."""
    return sorted(page for page in gallery.PAGES.glob("*.md") if page.stem != "index")


def in_nav() -> str:
    """Return the part of mkdocs.yml that names pages."""
    return (walkthrough.ROOT / "mkdocs.yml").read_text().partition("\nnav:")[2]


@pytest.mark.heavy
@pytest.mark.parametrize("page", gallery.DRAWN)
def test_every_command_works(
    page: str, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    gallery.run_page(page, tmp_path, start, monkeypatch)
    report = tmp_path / "run" / "report.json"
    if report.exists():
        require_result(json.loads(report.read_text()))
    for labels in tmp_path.glob("*/labels.csv"):
        assert ",answered" in labels.read_text()
    picture = gallery.DRAWN[page](tmp_path, gallery.page_commands(page))
    assert picture.count("<text") > 2
    gallery.keep_picture(page, picture)


def require_result(report: dict[str, Any]) -> None:
    """Something was released, within all budgets."""
    assert report["answered"] > 0 or report["queries"] == 0
    assert all(unit["epsilon_worst_case"] <= unit["epsilon_budget"] + 1e-9 for unit in report["units"])


def test_every_page_is_run_and_in_nav() -> None:
    assert {page.stem for page in pages()} == set(gallery.DRAWN)
    unnamed = [page.name for page in gallery.PAGES.glob("*.md") if f"gallery/{page.name}" not in in_nav()]
    assert unnamed == []


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_every_page_is_short_and_has_a_picture_with_words_for_it(page: Path) -> None:
    text = page.read_text()
    assert len(text.split()) < MOST_WORDS
    (alternative, picture), *_ = LINK.findall(text)
    assert (page.parent / picture).resolve() == gallery.PICTURES / f"{page.stem}.svg"
    assert (page.parent / picture).exists()
    assert len(alternative.split()) > 5


def test_the_index_shows_every_page() -> None:
    text = (gallery.PAGES / "index.md").read_text()
    for page in pages():
        assert f"]({page.name})" in text
        assert f"(../img/gallery/{page.stem}.svg)" in text


def test_the_network_that_is_shown_is_the_example() -> None:
    shown = re.findall(r"```python\n(.*?)```", (gallery.PAGES / "own-teacher.md").read_text(), re.S)
    assert shown
    assert shown[0] in (walkthrough.ROOT / "examples" / "own_teacher.py").read_text()
