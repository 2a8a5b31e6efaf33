"""Databases that may not grow: a change is undone as a whole, and goes through once there is room."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import make_url

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import Charge, Ledger, restore
from ostraka.guardian.ledger.sessions import batches, releases
from tests.disk import fill, free, small_disk
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import ATHENS, amounts, cipher, clock, refused, sign, with_budgets
from tests.postgres import running_server

ANSWERS = b"a" * 1_000_000
CHARGES = (Charge(ATHENS, 10, 10),)


def release_twice(ledger: Ledger, disk: Path, found: str) -> None:
    """Release a batch that finds no room on the ledger's disk, then again; it is charged once."""
    ledger.write_session("s", batches.open_batch, 1, 1, b"ticket", {ATHENS: 10})
    before = amounts(ledger)

    def release() -> bytes:
        return ledger.write_session("s", releases.release, 1, b"d" * 32, ANSWERS, CHARGES, answered=1)

    fill(disk)
    error = refused(ErrorCode.STORAGE_FULL, release)
    assert found in error.message
    assert amounts(ledger) == before
    assert ledger.read_session("s", batches.answers, 1, b"d" * 32) is None
    free(disk)
    assert release() == ANSWERS
    assert release() == ANSWERS
    assert amounts(ledger) == (10, 0)


def test_a_release_that_finds_no_room_in_sqlite_charges_nothing(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 3000) as disk:
        ledger = with_budgets(Place(disk / "ledger.db").open())
        release_twice(ledger, disk, f"no room on the disk of {disk}")
        ledger.close()


def test_a_restore_that_finds_no_room_leaves_no_ledger(tmp_path: Path) -> None:
    from ostraka.guardian.ledger.archive.backup import backup

    saved = tmp_path / "backup.db"
    ledger = with_budgets(Place(tmp_path / "ledger.db").open())
    backup(ledger, saved)
    ledger.close()
    with small_disk(tmp_path / "disk", 500) as disk:

        def again() -> int:
            return restore(saved, disk / "ledger.db", clock=clock(), cipher=cipher(), sign_head=sign)

        fill(disk)
        refused(ErrorCode.STORAGE_FULL, again)
        free(disk)
        assert again() == 1


@pytest.mark.heavy
def test_a_release_that_finds_no_room_in_postgresql_charges_nothing() -> None:
    with running_server() as server, _tablespace(server.new_database()) as (url, disk):
        ledger = with_budgets(Place(url).open())
        release_twice(ledger, disk, "no room on the disk of the ledger's database")
        ledger.close()


@contextmanager
def _tablespace(url: str) -> Iterator[tuple[str, Path]]:
    """Yield a database whose new tables lie on a small disk, and that disk."""
    database = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    with (
        tempfile.TemporaryDirectory() as folder,
        psycopg.connect(database, autocommit=True) as connection,
    ):
        Path(folder).chmod(0o755)
        row = connection.execute("SHOW data_directory").fetchone()
        assert row is not None
        owner = Path(row[0]).stat()
        with small_disk(Path(folder) / "disk", 8000) as disk:
            space = disk / "space"
            space.mkdir()
            for path in (disk, space):
                os.chown(path, owner.st_uid, owner.st_gid)
            connection.execute(f"CREATE TABLESPACE small LOCATION '{space}'".encode())
            name = make_url(url).database
            connection.execute(f"ALTER DATABASE {name} SET default_tablespace = small".encode())
            yield url, disk
            connection.execute("DROP SCHEMA public CASCADE")
            connection.execute("CHECKPOINT")
