"""Whatever units are charged for is an entry of a kind that can be costed again."""

import pytest
from sqlalchemy import ForeignKey, Table

from ostraka.common.errors import ErrorCode
from ostraka.guardian.ledger import repricing
from ostraka.guardian.ledger.repricing import RULES, spent_at
from ostraka.guardian.ledger.schema import KINDS, entries, metadata, units
from ostraka.guardian.ledger.storage import open_storage
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import ATHENS, ORDER, refused, with_budgets
from tests.guardian.ledger.test_publications import keep


def naming(table: Table) -> set[str]:
    """Names of the tables that name rows of a table."""
    keys: list[ForeignKey] = [key for other in metadata.sorted_tables for key in other.foreign_keys]
    return {key.parent.table.name for key in keys if key.column.table is table}


def test_units_are_charged_in_one_table_alone() -> None:
    """Charges in a table of their own are forgotten when records move, or are costed again."""
    assert naming(units) == {"charges", "evaluations", "unit_events"}
    assert naming(entries) == {"charges", "publications", "receipts"}


def test_every_kind_of_entry_has_its_rule() -> None:
    assert set(RULES) == set(KINDS)


def test_an_entry_of_a_kind_without_a_rule_is_an_error_and_not_free(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS)
    monkeypatch.setattr(repricing, "RULES", {kind: RULES[kind] for kind in KINDS if kind != "batch"})
    storage = open_storage(place.where)
    with storage.read() as connection, pytest.raises(KeyError, match="batch"):
        spent_at(connection, "athens", "record", ORDER)
    storage.close()


@pytest.mark.parametrize(
    "edit",
    ["UPDATE entries SET time_unix_ms = time_unix_ms + 1", "UPDATE entries SET kind = 'publication'"],
)
def test_an_edited_entry_is_found(place: Place, edit: str) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS)
    ledger.close()
    place.execute(edit)
    refused(ErrorCode.LEDGER_TAMPERED, place.open)
