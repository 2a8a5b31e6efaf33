"""What is kept of votes, and what is published of it: charged once, to everybody, under every accident."""

import threading
from dataclasses import replace

import pytest

from ostraka.common.errors import ErrorCode
from ostraka.guardian.accounting.smooth_noise import SmoothNoise
from ostraka.guardian.accounting.vote_total import DISTANCES, VoteTotal
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Ledger,
    LedgerReader,
    UnitKey,
    batches,
    budgets,
    charging,
    history,
    integrity,
    kept_totals,
    migrate,
    publications,
    recorded_charges,
)
from ostraka.guardian.ledger.kept_totals import UnitTotal
from ostraka.guardian.ledger.publications import Publication
from ostraka.guardian.ledger.recosting import recost
from ostraka.guardian.ledger.repricing import spent_at
from ostraka.guardian.ledger.schema import SCHEMA_VERSION
from ostraka.guardian.ledger.storage import open_storage
from tests.guardian.ledger.places import BEFORE_CHECKPOINTS, Place
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    ORDER,
    amounts,
    budget_of,
    cipher,
    open_session,
    refused,
    release,
    sign,
    with_budgets,
)

WORST, SPENT, COST = 100, 30, 5
KIND = b"k" * 16


def total(spent: int = SPENT, kind: bytes = KIND, order: float = ORDER) -> VoteTotal:
    return VoteTotal(order, kind, spent, tuple(range(1, DISTANCES + 1)))


def keep(ledger: Ledger, batch: int, *units: UnitKey, kept: VoteTotal | None = None) -> None:
    """Release a batch that costs units the worst case, and keep what its votes cost."""
    ledger.write_session("s", batches.open_batch, batch, 5, b"t", dict.fromkeys(units, WORST))
    release(ledger, batch, *(Charge(unit, WORST, WORST) for unit in units))
    totals = {unit: (kept or total()).to_bytes() for unit in units}
    ledger.write_session("s", charging.store_figures, batch, dict.fromkeys(units, SPENT), totals)


def publication(found: UnitTotal, statement: bytes = b"signed", **charges: int) -> Publication:
    noise = SmoothNoise.chosen(ORDER)
    return Publication(
        state=found.state,
        votes=found.votes,
        statement=statement,
        beta=noise.beta,
        sigma=noise.sigma,
        charges={payer.key: charges.get(payer.key.party, COST) for payer in found.payers},
        reason="a test",
    )


def verified(place: Place) -> None:
    """Hold the tables against the audit log."""
    storage = open_storage(place.where)
    try:
        with storage.read() as connection:
            integrity.check_tables(connection, integrity.chain(connection))
    finally:
        storage.close()


def total_of(ledger: LedgerReader, unit: UnitKey = ATHENS) -> UnitTotal:
    return ledger.read(kept_totals.total_of, unit)


@pytest.fixture
def ledger(place: Place) -> Ledger:
    """Two units pay alike for two batches, and one of them for another whose votes nobody kept."""
    made = with_budgets(place.open())
    keep(made, 1, ATHENS, CORINTH)
    keep(made, 2, ATHENS, CORINTH)
    return made


def test_a_total_counts_kept_batches_by_their_votes_and_all_else_at_worst(ledger: Ledger) -> None:
    found = total_of(ledger)
    assert (found.worst, found.spent, found.batches) == (2 * WORST, 2 * SPENT, 2)
    assert found.changes == tuple(2 * change for change in total().changes)
    assert [payer.key for payer in found.payers] == [ATHENS, CORINTH]
    assert found.state == total_of(ledger, CORINTH).state
    ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: WORST})
    release(ledger, 3, Charge(ATHENS, WORST, WORST))
    later = total_of(ledger)
    assert (later.worst, later.spent, later.batches) == (3 * WORST, 2 * SPENT + WORST, 2)
    assert later.state != found.state


@pytest.mark.parametrize(
    "kept", [VoteTotal.fixed(ORDER, WORST), total(order=ORDER + 1)], ids=["unknown", "another order"]
)
def test_totals_that_say_nothing_count_at_worst(place: Place, kept: VoteTotal) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS, kept=kept)
    assert "theorem6" in refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(ledger)).message


def test_a_publication_is_charged_to_all_and_stored_once(ledger: Ledger, place: Place) -> None:
    made = publication(total_of(ledger))
    assert ledger.write(publications.publish, made) == b"signed"
    assert ledger.write(publications.publish, replace(made, statement=b"drawn again")) == b"signed"
    assert amounts(ledger) == amounts(ledger, CORINTH) == (2 * WORST + COST, 0)
    again = total_of(ledger)
    assert (again.state, again.published, again.worst) == (made.state, 0, 2 * WORST)
    assert ledger.read(publications.find, again.state) == b"signed"
    keep(ledger, 3, ATHENS)
    assert total_of(ledger).published == COST
    ledger.close()
    reopened = place.open()
    assert reopened.read(publications.find, made.state) == b"signed"
    assert [charge.worst_case for charge in reopened.read(publications.charges)] == [COST, COST]
    event = reopened.read(history.events_of, CORINTH)[-1]
    assert (event.kind, event.spent, event.reason) == ("published", 2 * WORST + COST, "a test")
    verified(place)


@pytest.mark.heavy
def test_many_who_publish_at_once_are_charged_once(ledger: Ledger) -> None:
    found, told = total_of(ledger), []
    threads = [
        threading.Thread(
            target=lambda i=i: told.append(ledger.write(publications.publish, publication(found, b"%d" % i)))
        )
        for i in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 8
    assert len(set(told)) == 1
    assert amounts(ledger) == (2 * WORST + COST, 0)


def test_one_budget_without_room_refuses_the_whole(ledger: Ledger) -> None:
    found = total_of(ledger)
    left = budget_of(ledger, CORINTH).available
    ledger.write_session("s", batches.open_batch, 3, 5, b"t", {CORINTH: left - COST})
    ledger.write(publications.publish, publication(found))
    keep_state = total_of(ledger).state
    assert keep_state == found.state
    other = replace(publication(found), state="another")
    message = refused(ErrorCode.BUDGET_TOO_SMALL, lambda: ledger.write(publications.publish, other)).message
    assert "corinth" in message
    assert amounts(ledger) == (2 * WORST + COST, 0)
    assert ledger.read(publications.find, "another") is None


def test_who_is_frozen_withdrawn_or_held_to_votes_is_left_in_peace(ledger: Ledger) -> None:
    made = publication(total_of(ledger))
    ledger.write(budgets.freeze, CORINTH, frozen=True, reason="a test")
    refused(ErrorCode.POLICY_REFUSED, lambda: ledger.write(publications.publish, made))
    ledger.write(budgets.freeze, CORINTH, frozen=False, reason="a test")
    thebes = UnitKey("thebes", "all", "record")
    ledger.write(budgets.set_budget, thebes, BudgetTerms(BUDGET, DELTA, ORDER, "data_dependent"))
    held = replace(made, charges={**made.charges, thebes: COST})
    assert (
        "thebes"
        in refused(ErrorCode.POLICY_REFUSED, lambda: ledger.write(publications.publish, held)).message
    )
    assert amounts(ledger) == (2 * WORST, 0)


def test_what_was_kept_is_not_counted_once_spending_is_restated(ledger: Ledger, place: Place) -> None:
    place.time.advance(1)
    ledger.write(recost, "athens", 2)
    refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(ledger))
    place.time.advance(1)
    keep(ledger, 3, ATHENS)
    found = total_of(ledger)
    assert (found.batches, found.spent) == (1, found.worst - WORST + SPENT)


def test_publications_are_part_of_what_is_spent_at_another_order(ledger: Ledger, place: Place) -> None:
    noise, made = SmoothNoise.chosen(ORDER), publication(total_of(ledger))
    ledger.write(publications.publish, made)
    storage = open_storage(place.where)
    with storage.read() as connection:
        assert publications.noises(connection, "athens", ("record",)) == [(noise.beta, noise.sigma)]
        assert publications.noises(connection, "athens", ("label",)) == []
        assert spent_at(connection, "nobody", "record", ORDER) == 0
    storage.close()


def test_what_is_kept_is_sealed_and_of_one_length(ledger: Ledger, place: Place) -> None:
    keep(ledger, 3, ATHENS, kept=VoteTotal.fixed(ORDER, WORST))
    storage = open_storage(place.where)
    with storage.read() as connection:
        stored = [bytes(blob) for (blob,) in connection.exec_driver_sql("SELECT vote_total FROM charges")]
    storage.close()
    assert len({len(blob) for blob in stored}) == 1
    assert len(set(stored)) == len(stored)
    assert not any(KIND in blob for blob in stored)
    with LedgerReader.open_read_only(place.where) as keyless:
        with pytest.raises(ValueError, match="cipher"):
            keyless.read(kept_totals.total_of, ATHENS)
        assert [charge.worst_case for charge in recorded_charges.sealed_charges(keyless)] == [WORST] * 5


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE publication_charges SET worst_case = worst_case - 1",
        "UPDATE publications SET sigma = sigma * 2",
        "DELETE FROM publication_charges",
        "UPDATE publications SET state = 'other'",
    ],
)
@pytest.mark.heavy
def test_an_edited_publication_is_found(ledger: Ledger, place: Place, statement: str) -> None:
    ledger.write(publications.publish, publication(total_of(ledger)))
    ledger.close()
    place.execute(statement)
    refused(ErrorCode.LEDGER_TAMPERED, lambda: verified(place))


def test_a_ledger_of_the_first_version_is_migrated(place: Place) -> None:
    ledger = with_budgets(place.open())
    ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: WORST})
    release(ledger, 1, Charge(ATHENS, WORST, WORST))
    ledger.close()
    for statement in (
        "DROP TABLE publication_charges",
        "DROP TABLE publications",
        "ALTER TABLE charges DROP COLUMN vote_total",
        *BEFORE_CHECKPOINTS,
        "UPDATE meta SET schema_version = 1",
        "UPDATE alembic_version SET version_num = '0001'",
    ):
        place.execute(statement)
    refused(ErrorCode.LEDGER_OLDER, place.open)
    told = migrate(place.where, clock=place.time, cipher=cipher(), sign_head=sign)
    assert told == SCHEMA_VERSION
    newer = place.open()
    refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(newer))
    open_session(newer, "t")
    keep(newer, 2, ATHENS)
    newer.write(publications.publish, publication(total_of(newer)))
    assert amounts(newer) == (2 * WORST + COST, 0)
