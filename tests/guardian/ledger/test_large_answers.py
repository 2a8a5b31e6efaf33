"""Sums of trainings are stored as answers as large as networks: what lists batches does not read them."""

from collections.abc import Callable

import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from ostraka.guardian.ledger import Charge
from ostraka.guardian.ledger.reader import View
from ostraka.guardian.ledger.sessions import batches, recorded_charges
from ostraka.guardian.ledger.units.repricing import spent_at
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import ATHENS, release
from tests.guardian.ledger.support import with_budgets as begun


def costed(view: View) -> None:
    spent_at(view.connection, "athens", "record", 8.0)


@pytest.mark.parametrize("look", [recorded_charges.charges, costed])
def test_listing_and_costing_batches_reads_no_answers(place: Place, look: Callable[[View], object]) -> None:
    statements: list[str] = []

    def note(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    ledger = begun(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
    release(ledger, 1, Charge(ATHENS, 60, 30))
    event.listen(Engine, "before_cursor_execute", note)
    try:
        ledger.read(look)
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    assert any("batches.session_id" in statement for statement in statements)
    assert not any("batches.answers" in statement for statement in statements)
