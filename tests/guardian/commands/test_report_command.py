"""`ostraka guardian report`."""

import json
from datetime import UTC, datetime
from pathlib import Path

from tests.guardian.admin.support import label
from tests.guardian.commands.conftest import Admin


def test_a_page_and_the_same_as_json(admin: Admin, tmp_path: Path) -> None:
    session = label(admin.calls)
    page, values = tmp_path / "report.html", tmp_path / "report.json"
    assert "3 budgets at audit head" in admin.text("report", "--out", page, "--json", values)
    found = json.loads(values.read_text())
    assert session in page.read_text()
    assert found["federation"] == "test"
    assert [charge["session_id"] for charge in found["charges"]] == [session] * 3
    assert found["audit_head"]["hash"] in page.read_text()


def test_days_are_whole_and_the_last_one_counts(admin: Admin, tmp_path: Path) -> None:
    label(admin.calls)
    page = tmp_path / "report.html"
    rows = admin.json("session", "list")["sessions"]
    today = datetime.fromtimestamp(rows[0]["opened_unix_s"], UTC).strftime("%Y-%m-%d")
    assert len(admin.json("report", "--out", page, "--from", today)["charges"]) == 3
    assert admin.json("report", "--out", page, "--to", "2001-01-01")["charges"] == []
    span = admin.json("report", "--out", page, "--from", "2001-01-01", "--to", "2001-01-01")
    assert span["to_unix_ms"] - span["from_unix_ms"] == 24 * 3600 * 1000


def test_a_page_that_cannot_be_written(admin: Admin, tmp_path: Path) -> None:
    error = admin.refused("report", "--out", tmp_path / "none" / "report.html")
    assert (error.code, "Cannot write" in error.message) == ("config.invalid", True)
