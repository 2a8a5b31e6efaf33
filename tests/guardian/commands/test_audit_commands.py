"""`ostraka guardian audit`."""

import json
from pathlib import Path

from typer.testing import CliRunner

from ostraka.common.errors import OstrakaError
from ostraka.guardian.cli import app
from tests.guardian.admin.support import label
from tests.guardian.commands.conftest import Admin
from tests.guardian.federation import Federation


def refused(*words: object) -> OstrakaError:
    result = CliRunner().invoke(app, ["audit", "verify", *map(str, words)])
    assert isinstance(result.exception, OstrakaError), result.output
    return result.exception


def test_a_head_is_kept_and_found_again(admin: Admin, federation: Federation, tmp_path: Path) -> None:
    head = tmp_path / "head.pb"
    kept = admin.json("audit", "head", head)
    label(admin.calls)
    words = ["audit", "verify", "--site", str(federation.guardian_folder), "--head", str(head), "--json", "-"]
    verified = CliRunner().invoke(app, words)
    assert verified.exit_code == 0, verified.exception
    found = json.loads(verified.stdout)
    assert found["entries"] > kept["sequence"]
    assert found["heads_checked"] == 1


def test_exported_rows_are_one_object_a_line(admin: Admin, tmp_path: Path) -> None:
    label(admin.calls)
    whole, rest = tmp_path / "audit.jsonl", tmp_path / "rest.jsonl"
    head = admin.json("audit", "head", tmp_path / "head.pb")
    assert admin.json("audit", "export", whole)["rows"] == head["sequence"]
    rows = [json.loads(line) for line in whole.read_text().splitlines()]
    assert rows[-1]["hash"] == head["hash"]
    assert [json.loads(row["payload"])["kind"] for row in rows][:2] == ["created", "opened"]
    assert admin.json("audit", "export", rest, "--first", 3)["rows"] == head["sequence"] - 2
    assert rest.read_text().splitlines() == whole.read_text().splitlines()[2:]
    nowhere = tmp_path / "nowhere" / "audit.jsonl"
    refusal = admin.refused("audit", "export", nowhere)
    assert (refusal.code, "Cannot write" in refusal.message) == ("config.invalid", True)


def test_where_a_ledger_is_must_be_said_once(tmp_path: Path) -> None:
    for words, told in (
        ((), "by one of"),
        (("--ledger", "x", "--site", "y"), "by one of"),
        (("--url", "postgresql+psycopg://nowhere/x"), "by --ca"),
    ):
        error = refused(*words)
        assert (error.code, told in error.message) == ("config.invalid", True)
    assert refused("--ledger", tmp_path / "ledger.db").code == "data.missing"
