import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.console.scene import Scene, scene
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
    """Debian's Chromium, driven by Playwright, which brings none of its own."""
    path = shutil.which("chromium")
    if path is None:
        skip_or_fail("there is no chromium on this machine; `make heavy` installs it")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@pytest.fixture
def hospitals(tmp_path: Path) -> Iterator[Scene]:
    with scene(tmp_path) as made:
        yield made
