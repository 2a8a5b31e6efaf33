"""What votes cost, on a console that was started with the ledger's key, and on none other."""

from pathlib import Path

import pytest

from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.admin.texts import spending_text
from tests.guardian.admin.support import label
from tests.guardian.dashboard.browsing import Browser, browsing, problem
from tests.guardian.federation import Calls, Federation

MARK = "confidential: never publish"


def test_without_the_key_the_page_is_refused_and_nothing_leads_there(reader: Browser) -> None:
    assert "--ledger-key" in problem(reader.text("/confidential", 403))
    assert "/confidential" not in reader.text("/")


def test_with_the_key_the_page_shows_totals_and_is_marked(
    folder: Path, guardian: Calls, federation: Federation
) -> None:
    label(guardian)
    key = federation.guardian_folder / "ledger.key"
    with browsing(folder, ledger_key=key) as browser:
        page = browser.text("/confidential")
        assert 'href="/confidential"' in browser.text("/")
    assert page.count(MARK) == 4
    assert "Every epsilon here is a worst case" not in page
    for unit in totals(federation.guardian_folder):
        assert f"{unit['party']}/all (DP for records)" in page
        assert spending_text(unit["epsilon_data_dependent"]) in page


def test_another_ledgers_key_opens_nothing(folder: Path, guardian: Calls, tmp_path: Path) -> None:
    other = tmp_path / "other.key"
    other.write_bytes(bytes(32))
    other.chmod(0o600)
    with browsing(folder, ledger_key=other) as browser:
        assert "does not open with its key" in problem(browser.text("/confidential", 400))


def test_a_console_with_a_key_that_is_not_there_is_not_started(folder: Path) -> None:
    with (
        pytest.raises(OstrakaError, match="There is no ledger's key"),
        browsing(folder, ledger_key=folder / "no"),
    ):
        pass
