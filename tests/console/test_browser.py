"""The console in a real browser: what administrators do there, and that it loads nothing from elsewhere."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from ostraka.guardian.dashboard.console_server import running
from tests.browser import quiet_page
from tests.console.scene import Scene
from tests.guardian.admin.support import agree

pytestmark = pytest.mark.heavy

PICTURES = os.environ.get("OSTRAKA_CONSOLE_PICTURES", "")
"""Where to write screenshots; nowhere if empty."""

UNIT: dict[str, Any] = {"site": "athens-general", "group": "all", "adjacency": "record"}


@contextmanager
def opened(
    chromium: Browser,
    hospitals: Scene,
    *,
    allow_changes: bool = True,
    script: bool = True,
    dark: bool = False,
) -> Iterator[Page]:
    """Open a page at a console; its console log stays empty, and it asks nobody else for anything."""
    urls: list[str] = []
    with (
        running(
            hospitals.folder,
            "127.0.0.1:0",
            allow_changes=allow_changes,
            clock=hospitals.clock,
            tell=urls.append,
        ) as address,
        quiet_page(
            chromium,
            address,
            java_script_enabled=script,
            viewport={"width": 1280, "height": 900},
            color_scheme="dark" if dark else "light",
        ) as page,
    ):
        page.goto(urls[0])
        yield page


def picture(page: Page, name: str, *, whole: bool = True) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"console-{name}.png", full_page=whole)


def test_tables_are_sorted_by_any_column(chromium: Browser, hospitals: Scene) -> None:
    with opened(chromium, hospitals, allow_changes=False) as page:
        expect(page.get_by_role("heading", name="Overview")).to_be_visible()
        page.get_by_role("link", name="Sessions").click()
        picture(page, "sessions")
        asked = page.locator("tbody tr td:nth-of-type(4)")
        for direction in (1, -1):
            page.get_by_role("button", name="queries").click()
            values = [int(text) for text in asked.all_inner_texts()]
            assert values == sorted(values)[::direction]
            assert len(set(values)) > 1
        expect(page.get_by_role("columnheader", name="queries")).to_have_attribute("aria-sort", "descending")


def test_a_budget_is_lowered_and_a_signed_raise_applied(chromium: Browser, hospitals: Scene) -> None:
    signed = agree(hospitals.federation, "athens-general", epsilon_before=11.0, epsilon=14.0, **UNIT)
    with opened(chromium, hospitals) as page:
        page.get_by_role("link", name="athens-general").click()
        picture(page, "party")
        page.get_by_role("link", name="Lower the budget").click()
        page.get_by_label("Epsilon").fill("11")
        page.get_by_label("Reason").fill("fewer studies <script>alert(1)</script>")
        page.get_by_role("button", name="Show what will change").click()
        expect(page.locator(".steps tbody tr").first).to_contain_text("11")
        picture(page, "confirm")
        page.get_by_role("button", name="Set or lower a budget").click()
        expect(page.get_by_role("status")).to_contain_text("The budget was set.")

        page.get_by_role("link", name="Apply a signed raise").click()
        page.get_by_label("Signed agreement").set_input_files(
            {"name": "raise.pb", "mimeType": "", "buffer": signed.SerializeToString()}
        )
        page.get_by_label("Reason").fill("the new study was agreed on")
        page.get_by_role("button", name="Show what will change").click()
        page.get_by_role("button", name="Apply what a party signed").click()
        expect(page.get_by_role("status")).to_contain_text("was applied")
        expect(page.locator(".facts").first).to_contain_text("epsilon 14")

        page.get_by_role("link", name="Audit log").first.click()
        rows = page.locator("tbody tr")
        expect(rows.nth(0)).to_contain_text("the new study was agreed on")
        expect(rows.nth(0)).to_contain_text("budget_raised")
        expect(rows.nth(1)).to_contain_text("fewer studies <script>alert(1)</script>")
        picture(page, "audit", whole=False)
        page.get_by_role("button", name="Verify the log").click()
        expect(page.get_by_role("status")).to_contain_text("The audit log is intact")
        page.get_by_role("link", name="Overview").click()
        expect(page.locator(".warnings")).to_contain_text("no longer covers its lifetime")
        picture(page, "overview")


def test_everything_works_without_script(chromium: Browser, hospitals: Scene) -> None:
    with opened(chromium, hospitals, script=False, dark=True) as page:
        page.get_by_role("link", name="delphi-clinic").click()
        picture(page, "party-dark", whole=False)
        page.get_by_role("link", name="Thaw").click()
        page.get_by_label("Reason").fill("the question was answered")
        page.get_by_role("button", name="Show what will change").click()
        page.get_by_role("button", name="Thaw a unit").click()
        expect(page.get_by_role("status")).to_contain_text("The unit was thawed.")
        page.get_by_role("link", name="Consent and policy").click()


def test_open_sessions_are_read_again(chromium: Browser, hospitals: Scene) -> None:
    with opened(chromium, hospitals) as page:
        page.get_by_role("link", name="Sessions").click()
        first = page.locator("tbody tr").first
        expect(first).to_contain_text("open")
        session = page.locator("tbody tr code").first.inner_text()
        hospitals.cancel(session)
        expect(first).to_contain_text("ended", timeout=30_000)
