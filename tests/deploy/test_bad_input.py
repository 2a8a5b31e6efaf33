"""What goes wrong where sites are set up: the command says it in one sentence and stops before harm."""

import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

import ostraka.guardian.cli
from ostraka.client.run.site_status import query_status
from ostraka.common.clock import SystemClock
from ostraka.common.config import load_site
from ostraka.common.console.cli import run
from ostraka.common.identity import Credentials, Role
from ostraka.common.task import Task, write_task
from ostraka.common.task.input import TensorInput
from ostraka.deploy.cli import app
from ostraka.deploy.provisioning.signing import revoke_site
from ostraka.guardian.ledger import open_guardian_ledger
from ostraka.guardian.serving.server import running
from ostraka.services.journal.journal import Journal
from tests.addresses import free_ports
from tests.deploy.provisioning.kits import Sites, make_sites

Leaves = Callable[..., str]


@pytest.fixture
def leaves(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Leaves:
    """Run a command that must fail, and return its one line on stderr."""

    def left(*arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", ["ostraka", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            run(app)
        said = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error [")]
        assert (ended.value.code, len(said)) == (2, 1)
        return said[0]

    return left


@pytest.fixture
def sites(tmp_path: Path) -> Sites:
    guardian_port, party_port = free_ports(2)
    return make_sites(tmp_path / "here", SystemClock(), guardian_port, party_port)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_overlapping_ports_leave_no_kit(tmp_path: Path, leaves: Leaves) -> None:
    file = tmp_path / "federation.toml"
    file.write_text(
        'federation = "f"\n[guardian]\nsite = "hub"\naddress = "one.example:7000"\n[[admin]]\nsite = "hub"\n'
        '[[party]]\nsite = "a"\naddress = "one.example:7000"\n[[query]]\nsite = "q"\n'
    )
    said = leaves("provision", file, "--out", tmp_path / "kits")
    assert said.startswith("error [config.invalid]")
    assert "guardian hub and the party a share port 7000" in said
    assert not (tmp_path / "kits").exists()


def test_a_port_that_is_taken_stops_a_guardian(sites: Sites, leaves: Leaves) -> None:
    sites.join("hub-guardian", "a-party")
    with running(sites["hub-guardian"]) as address:
        second = shutil.copytree(sites["hub-guardian"], sites["hub-guardian"].with_name("second"))
        said = leaves("guardian", "serve", "--site", second)
    assert said.startswith("error [server.port_in_use]")
    assert address.rpartition(":")[2] in said


def test_a_kit_of_another_federation_gets_no_keys(sites: Sites, tmp_path: Path, leaves: Leaves) -> None:
    other = make_sites(tmp_path / "there", SystemClock(), federation="elsewhere")
    before = content(other["a-party"])
    said = leaves("site", "init", other["a-party"], "--ca-fingerprint", sites.made.fingerprint)
    assert said.startswith("error [identity.foreign]")
    assert content(other["a-party"]) == before


def test_a_certificate_of_another_site_does_not_serve(sites: Sites, leaves: Leaves) -> None:
    sites.join("a-party", "b-party")
    keys, others = (sites[name] / load_site(sites[name]).credentials for name in ("a-party", "b-party"))
    shutil.copytree(others, keys, dirs_exist_ok=True)
    before = content(sites["a-party"])
    said = leaves("party", "serve", "--site", sites["a-party"])
    assert said.startswith("error [config.invalid]")
    assert "ostraka://demo/b/party" in said
    assert "ostraka://demo/a/party" in said
    assert content(sites["a-party"]) == before


def test_a_newer_ledger_and_journal_stay_as_they_are(sites: Sites, leaves: Leaves) -> None:
    sites.join("hub-guardian", "a-party")
    hub, party = sites["hub-guardian"], sites["a-party"]
    open_guardian_ledger(hub, Credentials.of(load_site(hub)), SystemClock(), "here:1").close()
    Journal(party / "journal.db").close()
    for path, statement in (
        (hub / "ledger.db", "UPDATE meta SET schema_version = 99"),
        (party / "journal.db", "PRAGMA user_version = 99"),
    ):
        with closing(sqlite3.connect(path, isolation_level=None)) as db:
            db.execute(statement)
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    before = (hub / "ledger.db").read_bytes(), (party / "journal.db").read_bytes()
    assert leaves("guardian", "serve", "--site", hub).startswith("error [ledger.newer]")
    assert leaves("guardian", "ledger", "migrate", "--site", hub).startswith("error [ledger.newer]")
    assert leaves("party", "status", "--site", party).startswith("error [ledger.newer]")
    assert leaves("party", "audit-head", "--site", party, "--out", party / "head").startswith(
        "error [ledger.newer]"
    )
    assert before == ((hub / "ledger.db").read_bytes(), (party / "journal.db").read_bytes())


def test_a_revoked_site_is_refused_by_a_guardian_that_runs(sites: Sites, leaves: Leaves) -> None:
    sites.join("hub-guardian", "hub-admin", "q-query")
    lists = sites.made.ca / "crl.pem"
    with running(sites["hub-guardian"]):
        assert query_status(sites["q-query"]).unknown is None
        revoke_site("q", Role.QUERY, sites.made.ca, sites.clock)
        told = CliRunner().invoke(
            ostraka.guardian.cli.app,
            ["revoke", str(lists), "--site", str(sites["hub-admin"]), "--reason", "a stolen laptop"],
        )
        assert told.exit_code == 0, told.exception
        found = query_status(sites["q-query"])
    assert found.unknown is not None
    assert found.unknown.code == "identity.revoked"
    assert "ostraka://demo/q/query" in found.unknown.message
    shutil.copyfile(lists, sites["q-query"] / "crl.pem")
    task = Task(name="t", classes=("a", "b"), input=TensorInput(shape=(2, 2), range=(0, 1)))
    write_task(task, sites["q-query"] / "task.toml")
    asked = ("query", "plan", "--site", sites["q-query"], "--queries", "9", "--mechanism", "gnmax:sigma=9")
    assert leaves(*asked).startswith("error [identity.revoked]")
