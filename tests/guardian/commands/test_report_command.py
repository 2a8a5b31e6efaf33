"""`ostraka guardian report`."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin.confidential import totals
from ostraka.guardian.cli import app
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


def test_what_votes_cost_is_shown_with_the_ledgers_key_and_marked(admin: Admin, tmp_path: Path) -> None:
    label(admin.calls)
    page, key = tmp_path / "page.html", admin.site.parent / "guardian-guardian" / "ledger.key"
    shown = ("report", "--confidential", "--ledger-key", key, "--out", page)
    assert "confidential: never publish" in admin.text(*shown)
    found = admin.json(*shown)
    assert found["marking"] == "confidential: never publish"
    assert [unit["party"] for unit in found["units"]] == ["a", "b", "c"]
    assert found["units"] == totals(key.parent)
    assert page.read_text().count("confidential: never publish") == 3
    (admin.site / "ledger.key").write_bytes(key.read_bytes())
    (admin.site / "ledger.key").chmod(0o600)
    assert admin.json("report", "--confidential", "--out", page)["units"] == found["units"]


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--confidential",), "config.invalid", "--ledger-key"),
        (("--confidential", "--ledger-key", "other.key"), "ledger.tampered", "does not open with its key"),
        (("--confidential", "--ledger-key", "short.key"), "config.invalid", "bytes"),
        (("--confidential", "--ledger-key", "open.key"), "config.invalid", "chmod 600"),
        (("--ledger-key", "other.key"), "config.invalid", "--confidential"),
        (("--confidential", "--from", "2020-01-01"), "config.invalid", "--from"),
    ],
)
def test_without_the_key_nothing_is_shown(
    admin: Admin,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    code: str,
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, size, mode in (("other.key", 32, 0o600), ("short.key", 31, 0o600), ("open.key", 32, 0o644)):
        Path(name).write_bytes(bytes(size))
        Path(name).chmod(mode)
    error = admin.refused("report", "--out", tmp_path / "page.html", *words)
    assert error.code == code
    assert told in error.message
    assert not (tmp_path / "page.html").exists()


@pytest.mark.heavy
def test_figures_of_an_assessment(admin: Admin, tmp_path: Path) -> None:
    session = label(admin.calls)
    admin.calls.withdraw("c", "all")
    page = tmp_path / "figures.md"
    assert "3 parties at audit head 12" in admin.text("report", "--dpia", "--out", page)
    written = page.read_text()
    for line in (
        "| a | active | all | 100 | 10 | 1 | 1 | records |",
        "| ledger | sqlite |",
        "| noise source | ostraka |",
        '| consent | `{"low": 5.0, "high": 2000.0}` |',
        "mutual TLS 1.3 alone",
    ):
        assert line in written
    assert re.search(rf"\| {session} \| ostraka://test/q/query \| confident: .* \| 1 \| .* \| 3 \|", written)
    assert re.search(r"consent was withdrawn \| 1 \| \d{4}-", written)
    found = admin.json("report", "--dpia")
    assert (found["sessions"], found["queriers"], found["tls"]) == (1, ["ostraka://test/q/query"], "1.3")
    assert [party["site"] for party in found["parties"]] == ["a", "b", "c"]
    assert found["logged"]["unit_withdrawn"]["times"] == 1
    assert found["audit_head"]["hash"] in written
    assert found["audit_head"]["hash"] in admin.text("report", "--dpia")
    assert "answered" not in written + json.dumps(found)


@pytest.mark.parametrize(
    "words",
    [("--confidential",), ("--from", "2020-01-01"), ("--to", "2020-01-01"), ("--ledger-key", "ledger.key")],
)
def test_an_assessment_is_of_all_time_and_of_worst_cases(tmp_path: Path, words: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, ["report", "--site", str(tmp_path), "--dpia", *words])
    assert isinstance(result.exception, OstrakaError)
    assert (result.exception.code, words[0] in result.exception.message) == ("config.invalid", True)


def test_a_report_needs_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", "--site", str(tmp_path)])
    assert isinstance(result.exception, OstrakaError)
    assert (result.exception.code, "--out" in result.exception.message) == ("config.invalid", True)
