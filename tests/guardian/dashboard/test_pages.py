"""What the console's pages show."""

import pytest

from tests.guardian.admin.support import label
from tests.guardian.dashboard.browsing import Browser
from tests.guardian.federation import Calls


def test_the_overview_shows_parties_budgets_and_what_they_protect(reader: Browser, guardian: Calls) -> None:
    guardian.budget("a", 7, adjacency="label")
    page = reader.text("/")
    for word in ("DP for records", "label-DP", "1000", 'href="/party/a"', "read-only"):
        assert word in page


@pytest.mark.parametrize("path", ["/", "/party/a", "/sessions", "/policy", "/audit", "/downloads"])
def test_every_page(reader: Browser, guardian: Calls, path: str) -> None:
    session = label(guardian)
    assert "Every epsilon here is a worst case" in reader.text(path)
    assert session in reader.text(f"/session/{session}")
