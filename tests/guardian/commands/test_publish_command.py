"""`ostraka guardian publish-epsilon`."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from ostraka.common.config import SiteConfig, write_site
from ostraka.guardian.admin.texts import spending_text
from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import FEDERATION
from tests.guardian.publishing import compute_here, federation_of, release

UNIT = ("--party", "a", "--reason", "the annual report")


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Admin]:
    """Yield an administrator of a guardian that keeps what the votes of one batch cost."""
    monkeypatch.setenv("COLUMNS", "250")
    compute_here(monkeypatch)
    federation = federation_of(tmp_path)
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=100.0)
        release(calls, 1)
    site = federation.root / "ops-admin"
    with capture_logs(), federation.guardian() as calls:
        write_site(
            SiteConfig(federation=FEDERATION, site="ops", role="admin", guardian=calls.address, folder=site)
        )
        yield Admin(site, calls)


def test_it_says_what_was_published_and_what_it_cost_and_once_more_that_it_costs_nothing(
    keeping: Admin,
) -> None:
    told = keeping.text("publish-epsilon", *UNIT)
    assert "a/all (record), b/all (record), c/all (record): epsilon" in told
    assert "theorem6, one direction, with noise" in told
    assert "Charged, in rdp: a/all 0." in told
    assert "nothing was charged now" in keeping.text("publish-epsilon", *UNIT)
    found = keeping.json("publish-epsilon", *UNIT)
    assert found["again"] is True
    assert found["published"]["batches"] == 1
    assert found["statement"]["signature"]
    assert f"epsilon {spending_text(found['published']['epsilon'])}" in told


def test_where_nothing_was_kept_it_is_refused_in_one_sentence(admin: Admin) -> None:
    error = admin.refused("publish-epsilon", *UNIT)
    assert error.code == "budget.nothing_kept"
    assert "bound = 'theorem6'" in error.message
    assert admin.refused("publish-epsilon", "--party", "nobody", "--reason", "x").code == "budget.missing"
