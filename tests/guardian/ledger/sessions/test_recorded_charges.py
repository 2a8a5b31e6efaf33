"""Charges that are read in parts are those of one reading, each with what its unit had spent then."""

from dataclasses import replace
from typing import Any

import pytest

from ostraka.guardian.ledger import Charge, Ledger, RecordedCharge
from ostraka.guardian.ledger.sessions import batches, endings, evaluations, recorded_charges, releases
from ostraka.guardian.ledger.sessions.recorded_charges import Wanted
from ostraka.guardian.ledger.units import budgets, history
from tests.guardian.ledger.places import Place
from tests.guardian.ledger.support import (
    ATHENS,
    CORINTH,
    DIGEST,
    START,
    open_session,
    release,
    with_budgets,
)

AT = int(START * 1000)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    """Release three batches, let one die after its check and one after it was evaluated, and check one.

    They are a second apart; after the second one a period begins.
    """
    opened = with_budgets(place.open())
    open_session(opened, "t")
    for number in range(1, 7):
        place.time.advance(1)
        session = "t" if number == 3 else "s"
        opened.write_session(session, batches.open_batch, number, 5, b"t", {ATHENS: 100, CORINTH: 100})
        both = [Charge(ATHENS, 10 * number, 1), Charge(CORINTH, number, 1)]
        if number in (4, 6):
            opened.write_session(session, releases.check, number, DIGEST, both)
        elif number == 5:
            opened.write_session(session, evaluations.record, number, "athens", {ATHENS: 90})
        elif session == "t":
            opened.write_session("t", releases.release, number, DIGEST, b"answers", both, answered=1)
        else:
            release(opened, number, *both)
        if number == 2:
            place.time.advance(0.5)
            opened.write(budgets.renew, [ATHENS], period_ms=0)
    place.time.advance(1)
    for number in (4, 5):
        opened.write_session("s", endings.settle, number)
    return opened


@pytest.mark.parametrize(
    "wanted",
    [
        Wanted(),
        Wanted(session_id="t"),
        Wanted(party="corinth"),
        Wanted(from_ms=AT + 2000, to_ms=AT + 6000),
        Wanted(from_ms=AT + 6000),
    ],
)
@pytest.mark.parametrize("at_once", [1, 1000])
@pytest.mark.heavy
def test_parts_have_what_one_reading_has(
    ledger: Ledger, wanted: Wanted, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorded_charges, "ROWS", at_once)
    whole = ledger.read(
        recorded_charges.charges,
        wanted.session_id,
        party=wanted.party,
        from_ms=wanted.from_ms,
        to_ms=wanted.to_ms,
    )
    assert whole
    in_parts = list(recorded_charges.public_charges(ledger, wanted))
    assert in_parts == [replace(charge, data_dependent=None) for charge in whole]
    if wanted == Wanted():
        sealed = list(recorded_charges.sealed_charges(ledger))
        assert [(c.batch_id, c.unit) for c in sealed] == [(c.batch_id, c.unit) for c in whole]


@pytest.mark.parametrize("most", [1, 2])
def test_so_many_entries_are_read_at_once_and_no_more(
    ledger: Ledger, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[int] = []
    read = recorded_charges._part

    def counted(view: Any, wanted: Wanted, ids: Any, made: Any) -> Any:
        parts.append(len(ids))
        return read(view, wanted, ids, made)

    monkeypatch.setattr(recorded_charges, "_MAX_ENTRIES", most)
    monkeypatch.setattr(recorded_charges, "_part", counted)
    assert list(recorded_charges.public_charges(ledger, Wanted()))
    assert max(parts) == most


def test_every_charge_says_what_its_unit_had_spent_then(ledger: Ledger) -> None:
    def of(charge: RecordedCharge) -> tuple[int, int]:
        return charge.batch_id, charge.spent

    for unit in (ATHENS, CORINTH):
        told = [of(c) for c in ledger.read(recorded_charges.charges) if c.unit == unit]
        events = ledger.read(history.events_of, unit)
        assert told == [(e.batch_id, e.spent) for e in events if e.kind == "charged"]
        assert len(told) == (6 if unit == ATHENS else 5)
