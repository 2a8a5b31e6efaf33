"""The documentation as it is built: nothing broken, nothing fetched, and people find their way in it."""

import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from ostraka.deploy.images.locks import ROOT
from tests.browser import quiet_page
from tests.skips import skip_or_fail

pytestmark = pytest.mark.docs

SEARCH_MS = 120_000
"""How long a search may take beside other work."""
PUBLIC = [f"ostraka.{path.stem}" for path in (ROOT / "ostraka").glob("*.py") if not path.stem.startswith("_")]
ASSET = re.compile(
    r"<(?:script|img|iframe|source|link(?! rel=\"(?:canonical|edit)))[^>]*(?:src|href)=\"?https?:[^>]*>"
)
FETCHED = re.compile(r"(?:@import|url\()\s*[\"']?https?:")


@pytest.fixture(scope="module")
def site() -> Path:
    """Return the site as `make docs` left it."""
    folder = ROOT / "build" / "site"
    if not folder.is_dir():
        skip_or_fail("there is no build/site; `make docs` builds it")
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Serve the site; return host:port."""

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_pages_name_no_asset_of_another_host(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    found = {(page.name, match[0]) for page in pages for match in ASSET.finditer(page.read_text())}
    found |= {
        (style.name, match[0])
        for style in site.rglob("*.css")
        for match in FETCHED.finditer(style.read_text())
    }
    assert found == set()


def test_every_public_name_is_in_the_api(site: Path) -> None:
    page = (site / "api.html").read_text()
    for name in ("ostraka", *PUBLIC):
        module = import_module(name)
        missing = [one for one in module.__all__ if f'id="{name}.{one}"' not in page]
        assert missing == [], f"{name}: say in a docstring what these are"


@pytest.mark.parametrize(
    ("word", "page"),
    [
        ("GDPR", "dpia"),
        ("DPIA", "dpia"),
        ("erasure", "dpia"),
        ("ethics", "ethics"),
        ("FHIR", "faq"),
        ("OMOP", "faq"),
        ("DICOM", "faq"),
        ("REDCap", "faq"),
        ("Excel", "faq"),
        ("MLflow", "faq"),
        ("proxy", "firewalls"),
        ("inbound", "firewalls"),
    ],
)
def test_words_that_people_search_are_found(site: Path, word: str, page: str) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text())
    texts = [
        entry["title"] + entry["text"]
        for entry in index["docs"]
        if entry["location"].startswith(f"{page}.html")
    ]
    assert any(re.search(rf"\b{word}\b", text, re.IGNORECASE) for text in texts)


def follow_a_search(page: Page) -> None:
    """Search for a key of site.toml, and open the page that tells what it means."""
    page.get_by_role("textbox", name="Search").fill("max_open_batches")
    page.locator(".md-search-result__link").filter(has_text="site.toml").first.click(timeout=SEARCH_MS)
    expect(page.get_by_role("heading", name="site.toml and policies")).to_be_visible()
    expect(page.get_by_role("cell", name="max_open_batches", exact=True)).to_be_visible()


def test_a_search_is_followed_to_its_result(chromium: Browser, address: str) -> None:
    with quiet_page(chromium, address) as page:
        page.goto(f"http://{address}/")
        follow_a_search(page)


def test_the_search_works_without_a_server(chromium: Browser, site: Path) -> None:
    with quiet_page(chromium, "") as page:
        page.goto((site / "index.html").as_uri())
        follow_a_search(page)


def test_diagrams_and_pictures_are_shown(chromium: Browser, address: str) -> None:
    with quiet_page(chromium, address) as page:
        for name in ("index", "choosing", "architecture", "confidential"):
            page.goto(f"http://{address}/{name}.html")
            pictures = page.locator("article img").all()
            assert pictures
            assert all(picture.evaluate("image => image.naturalWidth") > 0 for picture in pictures)
