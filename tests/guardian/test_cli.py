"""`ostraka guardian ...` against a running guardian and its ledger file."""

import json
import socket
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostraka.common.config import SiteConfig, write_site
from ostraka.common.errors import OstrakaError
from ostraka.guardian.cli import app
from tests.guardian.federation import FEDERATION, Calls, Federation, unanimous

RUNNER = CliRunner()


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        write_site(
            SiteConfig(
                federation=FEDERATION,
                site="ops",
                role="admin",
                guardian=calls.address,
                folder=federation.root / "ops-admin",
            )
        )
        calls.prepare_all()
        yield calls


def call(federation: Federation, *words: str) -> dict[str, list[dict[str, object]]]:
    """Return the JSON that an admin command prints."""
    site = str(federation.root / "ops-admin")
    result = RUNNER.invoke(app, [*words, "--site", site, "--json", "-"], catch_exceptions=False)
    assert result.exit_code == 0
    loaded: dict[str, list[dict[str, object]]] = json.loads(result.stdout)
    return loaded


def test_budgets(guardian: Calls, federation: Federation) -> None:
    lowered = call(federation, "budget", "set", "--party", "a", "--epsilon", "7")
    assert lowered["budgets"][0]["epsilon"] == 7
    shown = call(federation, "budget", "show", "--party", "a")
    assert [b["epsilon"] for b in shown["budgets"]] == [7]
    assert {b["party"] for b in call(federation, "budget", "show")["budgets"]} == {"a", "b", "c"}


def test_a_raised_budget_is_refused(guardian: Calls, federation: Federation) -> None:
    site = str(federation.root / "ops-admin")
    words = ["budget", "set", "--party", "a", "--epsilon", "5000", "--site", site]
    result = RUNNER.invoke(app, words)
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code == "budget.raise_refused"


@pytest.mark.heavy
def test_sessions_and_tables_for_people(guardian: Calls, federation: Federation) -> None:
    session = guardian.open().session_id
    assert [s["session_id"] for s in call(federation, "session", "list")["sessions"]] == [session]
    for words in (["session", "list"], ["budget", "show"]):
        result = RUNNER.invoke(app, [*words, "--site", str(federation.root / "ops-admin")])
        assert result.exit_code == 0


def released(guardian: Calls) -> bytes:
    """Release one batch and return the head that a party was sent before it."""
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(20)))
    return guardian.register("a").audit_head.SerializeToString()


@pytest.mark.heavy
def test_audit_verify(guardian: Calls, federation: Federation, tmp_path: Path) -> None:
    head = tmp_path / "head.pb"
    head.write_bytes(released(guardian))
    ledger = str(federation.guardian_folder / "ledger.db")
    result = RUNNER.invoke(app, ["audit", "verify", "--ledger", ledger, "--head", str(head), "--json", "-"])
    assert result.exit_code == 0
    assert json.loads(result.stdout)["heads_checked"] == 1


@pytest.mark.heavy
def test_audit_verify_names_what_was_tampered_with(guardian: Calls, federation: Federation) -> None:
    released(guardian)
    federation.tampered = True
    ledger = federation.guardian_folder / "ledger.db"
    with sqlite3.connect(ledger) as connection:
        connection.execute("UPDATE units SET spent = spent - 1 WHERE party = 'a'")
    connection.close()
    result = RUNNER.invoke(app, ["audit", "verify", "--ledger", str(ledger)])
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code == "ledger.tampered"


def test_audit_verify_of_what_is_not_there(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["audit", "verify", "--ledger", str(tmp_path / "ledger.db")])
    assert isinstance(result.exception, OstrakaError)
    assert result.exception.code == "data.missing"


def refused_to_serve(folder: Path) -> str:
    """Return the code with which `ostraka guardian serve` ends."""
    result = RUNNER.invoke(app, ["serve", "--site", str(folder)])
    assert isinstance(result.exception, OstrakaError)
    return str(result.exception.code)


def test_a_tampered_ledger_is_not_served(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all()
    with sqlite3.connect(federation.guardian_folder / "ledger.db") as connection:
        connection.execute("UPDATE units SET budget = budget + 1 WHERE party = 'a'")
    connection.close()
    assert refused_to_serve(federation.guardian_folder) == "ledger.tampered"


def test_a_policy_whose_stops_tell_votes_is_not_served_without_the_flag(federation: Federation) -> None:
    site = federation.guardian_folder / "site.toml"
    site.write_text(site.read_text().replace('enforce = "worst_case"', 'enforce = "data_dependent"'))
    assert refused_to_serve(federation.guardian_folder) == "policy.stops_tell_votes"


def test_a_port_in_use(federation: Federation) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        site = federation.guardian_folder / "site.toml"
        site.write_text(site.read_text().replace("127.0.0.1:0", f"127.0.0.1:{port}"))
        assert refused_to_serve(federation.guardian_folder) == "server.port_in_use"
