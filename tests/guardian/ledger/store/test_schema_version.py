"""What a database holds that is given as a ledger."""

import sqlite3
from pathlib import Path

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger.store import schema_version
from ostraka.guardian.ledger.store.storage import open_storage
from tests.guardian.ledger.support import refused

JOURNAL = Path(__file__).parents[3] / "golden/files/journal-4/journal.db"


@pytest.mark.parametrize(
    ("tables", "code", "said"),
    [
        (("asked", "audit_head", "charges"), ErrorCode.LEDGER_MISSING, "is a party's journal, and no ledger"),
        (("accounts",), ErrorCode.LEDGER_MISSING, "is a database of something else"),
        (("units", "charges"), ErrorCode.LEDGER_TAMPERED, "or a part of it is gone"),
    ],
)
def test_a_journal_is_not_taken_for_a_forged_ledger(
    tmp_path: Path, tables: tuple[str, ...], code: ErrorCode, said: str
) -> None:
    file = tmp_path / "ledger.db"
    with sqlite3.connect(file) as database:
        for table in tables:
            database.execute(f"CREATE TABLE {table} (one INTEGER)")
    storage = open_storage(file)
    with storage.read() as connection:
        error = refused(code, lambda: schema_version.check_schema(connection, str(file)))
    storage.close()
    assert said in error.message


def test_the_tables_are_those_of_a_journal() -> None:
    database = sqlite3.connect(JOURNAL)
    names = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    database.close()
    assert names >= {"asked", "audit_head"}
