"""A real browser, and pages in it that may load nothing from other servers."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, sync_playwright

from tests.skips import skip_or_fail

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """Yield Debian's Chromium, driven by Playwright, which installs no browser of its own."""
    path = shutil.which("chromium")
    if path is None:
        skip_or_fail("there is no chromium on this machine; `make heavy` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@contextmanager
def quiet_page(chromium: Browser, address: str, **options: Any) -> Iterator[Page]:
    """Open a page; its console must stay empty, and its requests may go only to `address`."""
    complaints: list[str] = []
    asked: set[str] = set()

    def complain(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            complaints.append(message.text)

    context = chromium.new_context(**options)
    page = context.new_page()
    page.on("console", complain)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.add(request.url.split("/")[2]))
    yield page
    context.close()
    assert complaints == []
    assert asked <= {address}
