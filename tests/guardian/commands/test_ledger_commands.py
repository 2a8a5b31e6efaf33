"""`ostraka guardian ledger`."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from ostraka.common.errors import OstrakaError
from ostraka.guardian.cli import app
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.admin.support import label
from tests.guardian.federation import Calls, Federation, plan, refusal
from tests.guardian.ledger import later_version


def run(federation: Federation, *words: object) -> Result:
    site = ["--site", str(federation.guardian_folder)]
    return CliRunner().invoke(app, ["ledger", *map(str, words), *site])


def told(federation: Federation, *words: object) -> Any:
    result = run(federation, *words, "--json", "-")
    assert result.exit_code == 0, result.exception
    return json.loads(result.stdout)


def refused(federation: Federation, *words: object) -> OstrakaError:
    result = run(federation, *words)
    assert isinstance(result.exception, OstrakaError), result.output
    return result.exception


def backed_up(federation: Federation, backup: Path) -> float:
    """Back a ledger up after its first batch, while its guardian serves; what was spent by then."""
    with federation.guardian() as guardian:
        guardian.prepare_all()
        label(guardian)
        assert told(federation, "backup", "--out", backup)["entries"] > 0
        spent = guardian.spent()
        label(guardian, batch=2)
    return spent


def lose(federation: Federation) -> None:
    for path in federation.guardian_folder.glob("ledger.db*"):
        path.unlink()


def parties(guardian: Calls) -> set[str]:
    return {party.state for party in guardian.admin.ListParties(admin_pb2.ListPartiesRequest())}


@pytest.mark.heavy
def test_a_backup_is_restored_in_a_new_epoch(federation: Federation, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    spent = backed_up(federation, backup)
    lose(federation)
    assert told(federation, "restore", "--from", backup)["epoch"] == 1
    with federation.guardian() as guardian:
        assert guardian.spent() == spent
        assert parties(guardian) == {"unreconciled"}
        assert refusal(lambda: guardian.open(plan(nonce=b"m" * 16))) == "party.unreconciled"


@pytest.mark.heavy
def test_a_ledger_that_is_there_is_not_overwritten(federation: Federation, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backed_up(federation, backup)
    before = (federation.guardian_folder / "ledger.db").read_bytes()
    assert refused(federation, "restore", "--from", backup).code == "ledger.exists"
    assert refused(federation, "backup", "--out", backup).code == "ledger.exists"
    assert (federation.guardian_folder / "ledger.db").read_bytes() == before


@pytest.mark.heavy
def test_without_its_key_nothing_is_restored(federation: Federation, tmp_path: Path) -> None:
    backup = tmp_path / "backup.db"
    backed_up(federation, backup)
    lose(federation)
    (federation.guardian_folder / "ledger.key").rename(tmp_path / "elsewhere.key")
    error = refused(federation, "restore", "--from", backup)
    assert error.code == "config.invalid"
    assert "ledger.key" in error.message
    assert not (federation.guardian_folder / "ledger.db").exists()


def test_a_backup_of_nothing(federation: Federation, tmp_path: Path) -> None:
    assert refused(federation, "backup", "--out", tmp_path / "backup.db").code == "ledger.missing"
    error = refused(federation, "restore", "--from", tmp_path / "none.db")
    assert (error.code, "has no ledger.key" in error.message) == ("config.invalid", True)


def test_a_ledger_of_this_version_stays_as_it_is(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.prepare_all()
    ledger = federation.guardian_folder / "ledger.db"
    before = ledger.read_bytes()
    assert told(federation, "migrate") == {"schema_version": SCHEMA_VERSION}
    assert ledger.read_bytes() == before


@pytest.mark.heavy
def test_a_ledger_of_an_older_version_is_migrated_and_verified(
    federation: Federation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spent = backed_up(federation, tmp_path / "backup.db")
    later_version.install(monkeypatch, tmp_path / "migrations")
    assert refused(federation, "backup", "--out", tmp_path / "again.db").code == "ledger.older"
    assert told(federation, "migrate") == {"schema_version": later_version.VERSION}
    verified = CliRunner().invoke(app, ["audit", "verify", "--site", str(federation.guardian_folder)])
    assert verified.exit_code == 0, verified.exception
    with federation.guardian() as guardian:
        assert guardian.spent() > spent


@pytest.mark.heavy
def test_a_ledger_in_postgresql_is_backed_up_restored_and_verified(
    federation: Federation, tmp_path: Path, postgres_url: str
) -> None:
    backup = tmp_path / "backup.db"
    spent = backed_up(federation, backup)
    (federation.guardian_folder / "database.url").write_text(f"{postgres_url}\n")
    with (federation.guardian_folder / "site.toml").open("a") as file:
        file.write('[ledger]\nurl_file = "database.url"\n')
    assert told(federation, "restore", "--from", backup)["epoch"] == 1
    assert refused(federation, "restore", "--from", backup).code == "ledger.exists"
    with federation.guardian() as guardian:
        assert guardian.spent() == spent
    assert told(federation, "backup", "--out", tmp_path / "again.db")["entries"] > 0
    ca = str(federation.guardian_folder / "ca.crt")
    for where in (["--site", str(federation.guardian_folder)], ["--url", postgres_url, "--ca", ca]):
        result = CliRunner().invoke(app, ["audit", "verify", *where])
        assert result.exit_code == 0, result.exception
