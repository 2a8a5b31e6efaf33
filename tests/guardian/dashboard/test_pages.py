"""What the console's pages show."""

import re

import pytest
import structlog

from ostraka.common.config import SiteConfig, write_site
from ostraka.guardian.dashboard import console
from tests.guardian.admin.support import add_up, label
from tests.guardian.dashboard.browsing import Browser, browsing, problem
from tests.guardian.federation import FEDERATION, Calls, Federation, group


@pytest.mark.heavy
def test_the_overview_shows_parties_budgets_and_what_they_protect(reader: Browser, guardian: Calls) -> None:
    guardian.budget("a", 7, adjacency="label")
    page = reader.text("/")
    for word in ("DP for records", "label-DP", "1000", 'href="/party/a"', "read-only"):
        assert word in page


@pytest.mark.heavy
@pytest.mark.parametrize("path", ["/", "/party/a", "/sessions", "/policy", "/audit", "/downloads"])
def test_every_page(reader: Browser, guardian: Calls, path: str) -> None:
    session = label(guardian)
    assert "Every epsilon here is a worst case" in reader.text(path)
    assert session in reader.text(f"/session/{session}")


def test_the_audit_log_says_who(reader: Browser, guardian: Calls) -> None:
    guardian.budget("a", 7)
    guardian.open()
    page = reader.text("/audit")
    assert '<th scope="col">who</th>' in page
    assert re.search(r'budget_set</td><td>ops</td><td class="about">a/all', page)
    assert re.search(r'session_opened</td><td>q</td><td class="about">session', page)


@pytest.mark.heavy
def test_sums_among_charges_are_told_in_words(reader: Browser, guardian: Calls) -> None:
    session = add_up(guardian)
    assert f"session {session} batch 1, a sum of 3 x 2 values for a model" in reader.text("/party/a")
    page = reader.text(f"/session/{session}")
    assert "1 of 1, each a sum of 3 x 2 values for a model" in page
    assert "answered" not in page
    guardian.register("a", groups=[group("all", summed_records=40)])
    assert "100, 40 in sums" in reader.text("/party/a")


def test_a_guardian_that_cannot_be_reached_is_named_in_a_sentence(federation: Federation) -> None:
    folder = federation.root / "ops-admin"
    write_site(
        SiteConfig(federation=FEDERATION, site="ops", role="admin", guardian="127.0.0.1:1", folder=folder)
    )
    with browsing(folder, entered=False) as browser:
        shown = browser.enter()
    assert shown.status_code == 502
    assert "127.0.0.1:1" in problem(shown.text)


def test_a_page_that_meets_an_error_of_its_own_says_so_and_logs_no_details(
    reader: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "PAGE", "secret")
    with structlog.testing.capture_logs() as logged:
        assert "an internal error" in problem(reader.text("/audit", 500))
    assert [(entry["event"], entry["error"]) for entry in logged] == [("console.internal", "TypeError")]
    assert "secret" not in str(logged)
