"""`ostraka guardian ledger archive` and `audit verify-archive`."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.clock import ManualClock
from ostraka.common.errors import OstrakaError
from ostraka.guardian.admin import upkeep
from ostraka.guardian.cli import app
from ostraka.guardian.policy import DAY_S
from tests.guardian.admin.support import label
from tests.guardian.federation import Federation


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def told(*words: object) -> Any:
    result = run(*words, "--json", "-")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def refused(*words: object) -> str:
    result = run(*words)
    assert isinstance(result.exception, OstrakaError), result.output
    return str(result.exception.code)


def day(ahead: int) -> str:
    return f"{datetime.fromtimestamp(time.time() + ahead * DAY_S, UTC):%Y-%m-%d}"


@pytest.fixture
def made(federation: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the archive of all that a guardian, which serves on, did today; made tomorrow."""
    path = tmp_path / "archive.jsonl.gz"
    with federation.guardian() as guardian:
        guardian.prepare_all()
        label(guardian)
        monkeypatch.setattr(upkeep, "SystemClock", lambda: ManualClock(time.time() + DAY_S))
        site = ("--site", federation.guardian_folder)
        found = told("ledger", "archive", *site, "--before", day(1), "--out", path)
        assert (found["first"], found["file"]) == (1, str(path))
        assert found["batches"] == 1
        assert found["charges"] > 0
        assert refused("ledger", "archive", *site, "--before", day(1), "--out", path) == "ledger.exists"
        label(guardian, batch=2)
    return path


def test_an_archive_is_verified_with_the_certificate_alone_and_with_the_ledger_after_it(
    federation: Federation, made: Path
) -> None:
    folder = federation.guardian_folder
    alone = told("audit", "verify-archive", made, "--ca", folder / "ca.crt")
    assert alone["ledger_entries"] == 0
    beside = told("audit", "verify-archive", made, "--site", folder)
    assert beside["ledger_entries"] > alone["last"]
    assert beside == {**alone, "ledger_entries": beside["ledger_entries"]}
    shown = run("audit", "verify-archive", made, "--ledger", folder / "ledger.db").stdout
    assert f"The archives are intact: audit rows 1 to {alone['last']}" in shown
    assert f"to row {beside['ledger_entries']}" in shown


def test_the_next_archive_continues_it(federation: Federation, made: Path, tmp_path: Path) -> None:
    folder, second = federation.guardian_folder, tmp_path / "second.jsonl.gz"
    words = ("ledger", "archive", "--site", folder, "--before", day(1), "--out", second, "--after")
    shown = run(*words, made)
    assert shown.exit_code == 0, shown.exception
    assert "the ledger keeps them all" in shown.stdout
    ca = ("--ca", folder / "ca.crt")
    both = told("audit", "verify-archive", made, second, *ca)
    assert (both["first"], both["batches"]) == (1, 2)
    assert refused("audit", "verify-archive", second, made, *ca) == "ledger.archive_altered"
    assert told("audit", "verify-archive", second, *ca)["first"] > 1


def test_a_day_to_come_is_refused(federation: Federation, tmp_path: Path) -> None:
    out = tmp_path / "archive.jsonl.gz"
    words = ("ledger", "archive", "--site", federation.guardian_folder, "--out", out, "--before")
    assert refused(*words, day(1)) == "config.invalid"
    assert not out.exists()
