"""A toy version of the ledger that follows the current one, for tests of migrations."""

import shutil
from importlib import import_module
from pathlib import Path

import pytest
from sqlalchemy import BigInteger, Column, MetaData, Table, Text

from ostraka.guardian.ledger import creation, migrations
from ostraka.guardian.ledger.store import schema, schema_version

VERSION = schema.SCHEMA_VERSION + 1
REVISION = f"{VERSION:04d}"
_MIGRATE = import_module("ostraka.guardian.ledger.migrations.migrate")
_REVISIONS = f"""
revision = "{REVISION}"
down_revision = "{schema.REVISION}"
"""
_UPGRADE = """
from alembic import op


def upgrade() -> None:
    op.execute("ALTER TABLE batches ADD COLUMN note TEXT")
    op.execute("CREATE TABLE notes (number BIGINT NOT NULL PRIMARY KEY, note TEXT NOT NULL)")
    op.execute("UPDATE meta SET schema_version = schema_version + 1")
"""


def install(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make the code the later version for the rest of the test; `folder` is made for its migrations."""
    shutil.copytree(Path(migrations.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"v{REVISION}_notes.py").write_text(_REVISIONS + _UPGRADE)
    monkeypatch.setattr(migrations, "__file__", str(folder / "__init__.py"))
    for module in (creation, schema_version, _MIGRATE):
        monkeypatch.setattr(module, "SCHEMA_VERSION", VERSION)
    monkeypatch.setattr(creation, "REVISION", REVISION)
    for module in (creation, schema_version):
        monkeypatch.setattr(module, "metadata", tables())


def tables() -> MetaData:
    """Return this version's tables with a new table, and a new column in an existing one."""
    later = MetaData()
    for table in schema.metadata.sorted_tables:
        table.to_metadata(later)
    later.tables["batches"].append_column(Column("note", Text))
    number = Column("number", BigInteger, primary_key=True, autoincrement=False)
    Table("notes", later, number, Column("note", Text, nullable=False))
    return later
