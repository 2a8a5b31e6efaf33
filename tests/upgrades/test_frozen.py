"""What a released version left on disks is read by this one, says the same, and is gone on with."""

import shutil
from pathlib import Path

import pytest

import ostraka
from ostraka import ErrorCode, OstrakaError
from ostraka.common.config import load_site
from ostraka.common.identity import Credentials
from ostraka.common.identity.credentials import CA_CERT
from ostraka.common.mechanism import GnMax
from ostraka.deploy.site.keys import verify
from ostraka.deploy.site.preflight import preflight
from ostraka.guardian.admin import upkeep
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.site import ledger_location, open_guardian_ledger
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge, QueryCount
from tests.postgres import Server
from tests.upgrades import packing
from tests.upgrades.conftest import VERSIONS, Frozen
from tests.upgrades.federation import (
    ASKED,
    COUNTS,
    GUARDIAN,
    PARTIES,
    QUESTION,
    SITES,
    join,
)
from tests.upgrades.freeze import main
from tests.upgrades.manifest import read_answers, read_archive, read_ledger, read_receipts


def test_there_is_a_frozen_version() -> None:
    assert VERSIONS


def check_ledger(frozen: Frozen, folder: Path, backend: str) -> None:
    """Check that a guardian's ledger is migrated, opens with the same numbers, and verifies."""
    expected = frozen.manifest.ledgers[backend]
    assert upkeep.migrate(folder) == SCHEMA_VERSION
    credentials = Credentials.of(load_site(folder))
    with open_guardian_ledger(folder, credentials, frozen.clock, "here:1") as ledger:
        found = read_ledger(ledger)
        (row,) = [row for row in audit.audit_rows(ledger) if row.sequence == expected.row]
    assert found.units == expected.units
    assert row.hash.hex() == expected.hash
    checked = verify_ledger(ledger_location(folder), folder / CA_CERT, ())
    assert checked.entries == found.row > expected.row


def test_a_ledger_in_a_file_has_the_same_numbers(frozen: Frozen) -> None:
    federation = frozen.federation
    check_ledger(frozen, federation.site(GUARDIAN), "sqlite")
    ledger = ledger_location(federation.site(GUARDIAN))
    ca = federation.site("ca") / CA_CERT
    assert verify_ledger(ledger, ca, [federation.head]).heads_checked == 1


def test_a_ledger_on_postgresql_has_the_same_numbers(frozen: Frozen, postgres: Server) -> None:
    url = postgres.new_database()
    packing.load_database(frozen.version, url)
    folder = frozen.federation.on_postgresql
    (folder / "database.url").write_text(url)
    check_ledger(frozen, folder, "postgresql")


def test_an_archive_verifies_and_its_ledger_continues(frozen: Frozen) -> None:
    federation = frozen.federation
    assert read_archive(federation).items() >= frozen.manifest.archive.items()
    ledger = ledger_location(federation.site(GUARDIAN))
    found = upkeep.verify_archives([federation.archive], federation.site("ca") / CA_CERT, ledger)
    assert found.ledger_entries == frozen.manifest.ledgers["sqlite"].row


def test_a_journal_is_gone_on_with(frozen: Frozen) -> None:
    receipts = read_receipts(frozen.federation)
    assert receipts == frozen.manifest.receipts
    now = frozen.clock.now()
    with Journal(frozen.federation.site(PARTIES[0]) / "journal.db") as journal:
        charge = GroupCharge(GnMax(sigma=40.0), queries=3, classes=2)
        journal.record("later", 1, [charge], QueryCount("ostraka://frozen/q/query", 3), now)
        assert list(journal.queries_in_day(now).values()) == [sum(asked[-1] for asked in receipts) + 3]
        assert journal.audit_head() is not None
    assert read_receipts(frozen.federation) == (*receipts, ("later", 1, "all", 3))


def test_run_folders_say_the_same(frozen: Frozen) -> None:
    assert read_answers(frozen.federation) == frozen.manifest.answers


def test_a_kit_is_opened_and_its_ca_signs(frozen: Frozen) -> None:
    federation, manifest = frozen.federation, frozen.manifest
    assert verify(federation.kit, manifest.fingerprint).name == manifest.kit
    ca = federation.site("ca")
    same = shutil.copytree(federation.kit, federation.root / "same")
    with pytest.raises(OstrakaError, match="has certificates since"):
        join(same, manifest.fingerprint, ca, frozen.clock)
    join(federation.kit, manifest.fingerprint, ca, frozen.clock, again=True)
    assert Credentials.of(load_site(federation.kit)).identity.site == "b"


@pytest.mark.heavy
def test_a_federation_goes_on(frozen: Frozen) -> None:
    """Every site passes its check, what was paid is there for nothing, and what is new is added to it."""
    federation = frozen.federation
    upkeep.migrate(federation.site(GUARDIAN))
    pool, more = federation.table("pool"), federation.table("more")
    querier = federation.querier
    with federation.serving():
        for name in SITES:
            failed = [found for found in preflight(federation.site(name)) if found.state == "failed"]
            assert not failed
        before = federation.admin.budgets()
        querier.label(pool, QUESTION, federation.run)
        querier.describe(COUNTS, federation.counts)
        assert read_answers(federation) == frozen.manifest.answers
        assert federation.admin.budgets() == before
        with pytest.raises(OstrakaError) as refused:
            querier.label(pool, QUESTION, federation.run.with_name("again"))
        assert refused.value.code is ErrorCode.RUN_ASKED_BEFORE
        labels = querier.label(more, QUESTION, federation.run.with_name("more"))
        after = federation.admin.budgets()
    assert labels.answered == ASKED
    assert all(one.spent < other.spent for one, other in zip(before, after, strict=True))
    assert len(read_receipts(federation)) > len(frozen.manifest.receipts)
    learned = querier.retrain(federation.table("west-labelled"), labels.run, more)
    assert learned.released == ASKED
    assert ostraka.Guardian(federation.site(GUARDIAN)).audit([federation.head]).heads_checked == 1


def test_what_is_frozen_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ostraka, "__version__", VERSIONS[0].name)
    assert main() == 2
    assert "stays as it is" in capsys.readouterr().err
