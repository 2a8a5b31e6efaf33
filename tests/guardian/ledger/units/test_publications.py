"""What is kept of votes, and what is published of it: charged once, to everybody, under every accident."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Connection

from ostraka.common.errors import ErrorCode
from ostraka.guardian.accounting.smooth_noise import DISTANCES, SmoothNoise, VoteTotal
from ostraka.guardian.ledger import (
    BudgetTerms,
    Charge,
    Ledger,
    LedgerReader,
    UnitKey,
    backup,
    migrate,
    registrations,
)
from ostraka.guardian.ledger.log import integrity
from ostraka.guardian.ledger.sessions import batches, charging, recorded_charges
from ostraka.guardian.ledger.store.schema import SCHEMA_VERSION
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import budgets, history, kept_totals, publications
from ostraka.guardian.ledger.units.kept_totals import UnitTotal
from ostraka.guardian.ledger.units.publications import OutdatedError, Publication
from ostraka.guardian.ledger.units.repricing import RULES, Raises, Repriced, recost, spent_at
from tests.guardian.ledger.places import BEFORE_CHECKPOINTS, BEFORE_ENTRIES, Place
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


def keep(
    ledger: Ledger,
    batch: int,
    *units: UnitKey,
    kept: VoteTotal | None = None,
    votes: Mapping[str, int] | None = None,
    meanwhile: Callable[[], object] = lambda: None,
) -> None:
    """Release a batch that costs units the worst case, and keep what its votes cost."""
    reserved = dict.fromkeys(units, WORST)
    ledger.write_session("s", batches.open_batch, batch, 5, b"t", reserved, votes=votes)
    meanwhile()
    release(ledger, batch, *(Charge(unit, WORST, WORST) for unit in units))
    totals = {unit: (kept or total()).to_bytes() for unit in units}
    ledger.write_session("s", charging.store_figures, batch, dict.fromkeys(units, SPENT), totals)


def publication(found: UnitTotal, statement: bytes = b"signed", **charges: int) -> Publication:
    noise = SmoothNoise.by_order(ORDER)
    return Publication(
        unit=found.budget.key,
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
    "kept", [VoteTotal.of_worst_case(ORDER, WORST), total(order=ORDER + 1)], ids=["unknown", "another order"]
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
    assert [charge.worst_case for charge in reopened.read(recorded_charges.charges, kind="publication")] == [
        COST,
        COST,
    ]
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
    keep(ledger, 4, ATHENS)
    now = total_of(ledger)
    other = publication(now)
    message = refused(ErrorCode.BUDGET_TOO_SMALL, lambda: ledger.write(publications.publish, other)).message
    assert "corinth" in message
    assert amounts(ledger) == (3 * WORST + COST, 0)
    assert ledger.read(publications.find, now.state) is None


def test_who_is_frozen_withdrawn_or_held_to_votes_is_left_in_peace(ledger: Ledger) -> None:
    made = publication(total_of(ledger))
    ledger.write(budgets.freeze, CORINTH, frozen=True, reason="a test")
    refused(ErrorCode.POLICY_REFUSED, lambda: ledger.write(publications.publish, made))
    ledger.write(budgets.freeze, CORINTH, frozen=False, reason="a test")
    thebes = UnitKey("thebes", "all", "record")
    ledger.write(budgets.set_budget, thebes, BudgetTerms(BUDGET, DELTA, ORDER, "data_dependent"))
    ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: WORST})
    release(ledger, 3, Charge(ATHENS, WORST, WORST), Charge(thebes, 1, 1))
    ledger.write_session("s", charging.store_figures, 3, {}, {ATHENS: total().to_bytes()})
    held = publication(total_of(ledger))
    message = refused(ErrorCode.POLICY_REFUSED, lambda: ledger.write(publications.publish, held)).message
    assert "thebes" in message
    assert amounts(ledger) == (3 * WORST, 0)


def test_what_was_kept_is_not_counted_once_spending_is_restated(ledger: Ledger) -> None:
    made(ledger, LOW)
    keep(ledger, 3, LOW, meanwhile=lambda: enter(ledger, "all"))
    refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(ledger))
    keep(ledger, 4, ATHENS)
    found = total_of(ledger)
    assert (found.batches, found.spent) == (1, found.worst - WORST + SPENT)


def test_publications_are_part_of_what_is_spent_at_another_order(ledger: Ledger, place: Place) -> None:
    noise, made = SmoothNoise.by_order(ORDER), publication(total_of(ledger))
    ledger.write(publications.publish, made)
    storage = open_storage(place.where)
    with storage.read() as connection:
        for order in (ORDER, ORDER / 2):
            assert priced(connection, "athens", "record", order) == [noise.cost(order)]
        assert priced(connection, "nobody", "record", ORDER) == []
        assert spent_at(connection, "nobody", "record", ORDER) == 0
    storage.close()


def priced(connection: Connection, party: str, adjacency: str, order: float) -> list[int | None]:
    """Return what publications cost a party's records at an order."""
    asked = Repriced(party, adjacency, order, Raises.of(connection, party))
    return list(RULES["publication"](connection, asked))


LOW, HIGH = (ATHENS._replace(group=name) for name in ("low", "high"))
LABELS = ATHENS._replace(adjacency="label")


def made(ledger: Ledger, unit: UnitKey) -> None:
    ledger.write(budgets.set_budget, unit, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case"))


def enter(ledger: Ledger, *groups: str) -> None:
    """Register a manifest of athens in which these groups are new."""
    ledger.write(registrations.register, "athens", repr(groups).encode(), b"signed", entering=groups)


def payers(ledger: Ledger, unit: UnitKey = CORINTH) -> list[UnitKey]:
    return [payer.key for payer in total_of(ledger, unit).payers]


def test_who_took_over_a_payers_spending_pays_too(ledger: Ledger, place: Place) -> None:
    for unit in (LOW, LABELS):
        made(ledger, unit)
    assert payers(ledger) == [LABELS, ATHENS, LOW, CORINTH]
    ledger.write(publications.publish, publication(total_of(ledger, CORINTH)))
    assert [amounts(ledger, unit)[0] for unit in (LABELS, LOW)] == [2 * WORST + COST] * 2
    made(ledger, HIGH)
    assert amounts(ledger, HIGH) == (2 * WORST + COST, 0)
    verified(place)


def test_an_heir_pays_also_where_it_had_spent_as_much_before(place: Place) -> None:
    ledger = with_budgets(place.open())
    made(ledger, LOW)
    keep(ledger, 1, ATHENS, CORINTH)
    ledger.write_session("s", batches.open_batch, 2, 5, b"t", {LOW: 5 * WORST})
    release(ledger, 2, Charge(LOW, 5 * WORST, WORST))
    assert payers(ledger) == [ATHENS, CORINTH]
    enter(ledger, "low")
    assert amounts(ledger, LOW) == (5 * WORST, 0)
    assert payers(ledger) == [ATHENS, LOW, CORINTH]
    verified(place)


def test_who_took_over_before_a_batch_does_not_pay_for_it(place: Place) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS)
    made(ledger, LOW)
    keep(ledger, 2, ATHENS, CORINTH)
    assert payers(ledger) == [ATHENS, CORINTH]
    enter(ledger, "low")
    assert payers(ledger) == [ATHENS, LOW, CORINTH]


@pytest.mark.parametrize("state", ["frozen", "withdrawn", "short"])
def test_an_heir_that_cannot_pay_refuses_the_whole(ledger: Ledger, state: str) -> None:
    made(ledger, LOW)
    if state == "frozen":
        ledger.write(budgets.freeze, LOW, frozen=True, reason="a test")
    elif state == "withdrawn":
        ledger.write(budgets.withdraw, LOW, reason="a test")
    else:
        left = budget_of(ledger, LOW).available
        ledger.write_session("s", batches.open_batch, 3, 5, b"t", {LOW: left - COST + 1})
    code = ErrorCode.BUDGET_TOO_SMALL if state == "short" else ErrorCode.POLICY_REFUSED
    found = publication(total_of(ledger))
    assert "athens/low" in refused(code, lambda: ledger.write(publications.publish, found)).message
    assert amounts(ledger) == amounts(ledger, CORINTH) == (2 * WORST, 0)


def test_who_pays_is_read_again_before_it_is_charged(ledger: Ledger) -> None:
    found = publication(total_of(ledger))
    made(ledger, LOW)
    with pytest.raises(OutdatedError):
        ledger.write(publications.publish, found)
    assert amounts(ledger) == amounts(ledger, CORINTH) == (2 * WORST, 0)
    ledger.write(publications.publish, publication(total_of(ledger)))
    assert amounts(ledger, LOW) == (2 * WORST + COST, 0)


def test_batches_of_fewer_votes_than_a_voter_has_since_are_kept_for_nobody(place: Place) -> None:
    """Whoever publishes: what one record changes of their totals was computed for all voters."""
    ledger = with_budgets(place.open())
    keep(ledger, 1, CORINTH)
    keep(ledger, 2, ATHENS, CORINTH, votes={"athens": 1, "corinth": 1})
    keep(ledger, 3, ATHENS, CORINTH, votes={"athens": 5, "corinth": 1})
    raise_votes = partial(ledger.write, recost, "athens", 5)
    keep(ledger, 4, ATHENS, CORINTH, votes={"athens": 1, "corinth": 1}, meanwhile=raise_votes)
    keep(ledger, 5, ATHENS, CORINTH, votes={"athens": 5, "corinth": 1})
    found = total_of(ledger, CORINTH)
    assert (found.batches, found.influence) == (3, {"athens": 5, "corinth": None})
    raise_votes()
    keep(ledger, 6, ATHENS, votes={"athens": 6})
    assert total_of(ledger).batches == 1


def test_whoever_publishes_after_a_raise_of_votes_alone_is_told_of_it(place: Place) -> None:
    ledger = with_budgets(place.open())
    keep(ledger, 1, ATHENS, CORINTH, votes={"athens": 1, "corinth": 1})
    ledger.write(recost, "athens", 5)
    for key in (ATHENS, CORINTH):
        message = refused(ErrorCode.BUDGET_NOTHING_KEPT, partial(total_of, ledger, key)).message
        assert "more votes of one person" in message


def test_more_votes_than_a_publication_was_made_for_have_no_price(ledger: Ledger, place: Place) -> None:
    """What it costs whoever has no more votes stays charged, beside batches at the new number."""
    ledger.write(publications.publish, publication(total_of(ledger)))
    ledger.write(recost, "corinth", 2)
    price = SmoothNoise.by_order(ORDER).cost(ORDER)
    storage = open_storage(place.where)
    with storage.read() as connection:
        asked = Repriced("corinth", "record", ORDER, Raises.of(connection, "corinth", 2))
        batches = sum(amount or 0 for amount in RULES["batch"](connection, asked))
        assert priced(connection, "corinth", "record", ORDER) == [price, None]
        assert priced(connection, "athens", "record", ORDER) == [price]
    storage.close()
    assert budget_of(ledger, CORINTH).spent == batches + price
    assert budget_of(ledger, CORINTH).broken_unix_ms
    assert not budget_of(ledger).broken_unix_ms
    verified(place)


def test_a_publication_covers_the_votes_that_all_its_batches_do(place: Place) -> None:
    ledger = with_budgets(place.open())
    for batch, votes in ((1, 3), (2, 2)):
        keep(ledger, batch, ATHENS, votes={"athens": votes})
    ledger.write(publications.publish, publication(total_of(ledger)))
    found = []
    for votes in (2, 3):
        storage = open_storage(place.where)
        with storage.read() as connection:
            asked = Repriced("athens", "record", ORDER, Raises.of(connection, "athens", votes))
            found += list(RULES["publication"](connection, asked))
        storage.close()
    price = SmoothNoise.by_order(ORDER).cost(ORDER)
    assert found == [price, price, None]


def test_nothing_is_published_again_of_a_history_that_was_lost(
    ledger: Ledger, place: Place, tmp_path: Path
) -> None:
    backup(ledger, tmp_path / "backup.db")
    restored = Place(tmp_path / "restored.db", place.time)
    restored.restore(tmp_path / "backup.db")
    refused(ErrorCode.BUDGET_NOTHING_KEPT, lambda: total_of(restored.open()))
    restored.close()


def test_what_is_kept_is_sealed_and_of_one_length(ledger: Ledger, place: Place) -> None:
    keep(ledger, 3, ATHENS, kept=VoteTotal.of_worst_case(ORDER, WORST))
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
        "UPDATE charges SET worst_case = worst_case - 1 WHERE entry IN (SELECT id FROM publications)",
        "UPDATE publications SET sigma = sigma * 2",
        "DELETE FROM charges WHERE entry IN (SELECT id FROM publications)",
        "UPDATE charges SET votes = 7 WHERE entry IN (SELECT id FROM publications)",
        "UPDATE entries SET kind = 'receipt' WHERE id IN (SELECT id FROM publications)",
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
        *BEFORE_ENTRIES,
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
