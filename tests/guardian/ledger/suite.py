"""What every storage backend of the ledger must do; a backend's tests say how it is opened."""

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sqlalchemy import select

from ostraka.common.clock import ManualClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.privacy import AMOUNT_UNIT, amount, epsilon
from ostraka.guardian.ledger import BudgetTerms, Charge, Ledger, StoredSession, UnitKey, registrations
from ostraka.guardian.ledger.log import audit
from ostraka.guardian.ledger.members import limits, manifests, parties, revocations
from ostraka.guardian.ledger.sessions import (
    batches,
    charging,
    endings,
    recorded_charges,
    releases,
    session_opening,
    sessions,
)
from ostraka.guardian.ledger.store.schema import units as unit_table
from ostraka.guardian.ledger.store.storage import open_storage
from ostraka.guardian.ledger.units import balances, budgets, units
from tests.guardian.ledger.support import (
    ATHENS,
    BUDGET,
    CORINTH,
    DELTA,
    DIGEST,
    ORDER,
    SEAL,
    START,
    amounts,
    budget_of,
    cipher,
    clock,
    open_session,
    refused,
    release,
    sign,
    with_budgets,
)

Opener = Callable[[], Ledger]
DAY_S = 24 * 3600.0
SESSIONS = 16


def sealed_totals(where: Path | str) -> dict[UnitKey, bytes]:
    """Return every unit's encrypted data-dependent total, as seen in a copy of the database."""
    storage = open_storage(where)
    try:
        with storage.read() as connection:
            return {units.key_of(row): row.data_dependent for row in connection.execute(select(unit_table))}
    finally:
        storage.close()


class LedgerSuite(ABC):
    """Derive a class named Test... for each backend."""

    @pytest.fixture
    @abstractmethod
    def where(self) -> Path | str:
        """Return a place without a ledger."""

    @pytest.fixture
    def time(self) -> ManualClock:
        return clock()

    @pytest.fixture
    def opener(self, where: Path | str, time: ManualClock) -> Iterator[Opener]:
        """Yield a function that opens the ledger as a restarted guardian does."""
        opened: list[Ledger] = []

        def open_again() -> Ledger:
            opened.append(
                Ledger.open(where, clock=time, cipher=cipher(), sign_head=sign, seal=SEAL, address="pg:7000")
            )
            return opened[-1]

        yield open_again
        for ledger in opened:
            ledger.close()

    @pytest.fixture
    def ledger(self, opener: Opener) -> Ledger:
        return with_budgets(opener())

    @pytest.fixture
    def trusting(self, opener: Opener) -> Ledger:
        return with_budgets(opener(), "data_dependent")

    # Budgets

    def test_a_budget_never_promises_more_than_its_epsilon(self, ledger: Ledger) -> None:
        budget = budget_of(ledger)
        assert epsilon(budget.budget * AMOUNT_UNIT, ORDER, DELTA) <= BUDGET
        assert epsilon((budget.budget + 10) * AMOUNT_UNIT, ORDER, DELTA) > BUDGET

    def test_a_budget_set_again_is_the_same(self, ledger: Ledger) -> None:
        before = ledger.read(audit.head).sequence
        assert ledger.write(
            budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case")
        ) == budget_of(ledger)
        assert ledger.read(audit.head).sequence == before

    @pytest.mark.parametrize(
        ("epsilon_asked", "delta", "order", "enforce", "code"),
        [
            (BUDGET * 1.01, DELTA, ORDER, "worst_case", ErrorCode.BUDGET_RAISE_REFUSED),
            (BUDGET, DELTA * 2, ORDER, "worst_case", ErrorCode.BUDGET_ALREADY_SET),
            (BUDGET, DELTA, ORDER / 2, "worst_case", ErrorCode.BUDGET_ALREADY_SET),
            (BUDGET, DELTA, ORDER, "data_dependent", ErrorCode.BUDGET_ALREADY_SET),
        ],
    )
    def test_a_budget_does_not_grow(
        self, ledger: Ledger, epsilon_asked: float, delta: float, order: float, enforce: str, code: ErrorCode
    ) -> None:
        before = budget_of(ledger)
        refused(
            code,
            lambda: ledger.write(
                budgets.set_budget, ATHENS, BudgetTerms(epsilon_asked, delta, order, enforce)
            ),
        )
        assert budget_of(ledger) == before

    def test_a_lowered_budget_does_not_grow_back(self, ledger: Ledger) -> None:
        ledger.write(budgets.set_budget, ATHENS, BudgetTerms(5.0, DELTA, ORDER, "worst_case"))
        refused(
            ErrorCode.BUDGET_RAISE_REFUSED,
            lambda: ledger.write(budgets.set_budget, ATHENS, BudgetTerms(BUDGET, DELTA, ORDER, "worst_case")),
        )

    def test_a_budget_lowered_below_what_is_committed_leaves_nothing(self, ledger: Ledger) -> None:
        half = budget_of(ledger).budget // 2
        ledger.write_session("s", batches.open_batch, 1, 10, b"ticket", {ATHENS: half})
        lowered = ledger.write(budgets.set_budget, ATHENS, BudgetTerms(2.0, DELTA, ORDER, "worst_case"))
        assert lowered.available == 0
        release(ledger, 1, Charge(ATHENS, half - 5, 0))
        assert amounts(ledger) == (half - 5, 0)
        refused(
            ErrorCode.BUDGET_TOO_SMALL,
            lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1}),
        )

    def test_budgets_of_one_party_or_all_in_order(self, ledger: Ledger) -> None:
        assert [budget.key for budget in ledger.read(balances.all_budgets)] == [ATHENS, CORINTH]
        assert [budget.key for budget in ledger.read(balances.all_budgets, "corinth")] == [CORINTH]
        refused(
            ErrorCode.BUDGET_MISSING,
            lambda: ledger.read(balances.budgets_of, [ATHENS, ATHENS._replace(group="b")]),
        )

    def test_epsilons_of_a_budget(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 1, b"t", {ATHENS: 2 * 10**12})
        release(ledger, 1, Charge(ATHENS, 10**12, 0))
        ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 3 * 10**12})
        budget = budget_of(ledger)
        assert budget.epsilon_worst_case == epsilon(1.0, ORDER, DELTA)
        assert budget.epsilon_worst_case + budget.epsilon_reserved == pytest.approx(
            epsilon(4.0, ORDER, DELTA)
        )

    # Batches

    def test_a_ticket_reserves_from_all_units_or_none(self, ledger: Ledger) -> None:
        everything = budget_of(ledger).budget
        ledger.write_session("s", batches.open_batch, 1, 1, b"t", {CORINTH: everything})
        refused(
            ErrorCode.BUDGET_TOO_SMALL,
            lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1, CORINTH: 1}),
        )
        assert amounts(ledger, ATHENS) == (0, 0)
        assert ledger.read_session("s", batches.find_batch, 2) is None

    def test_a_refused_batch_says_how_many_queries_fit(self, ledger: Ledger) -> None:
        per_query = budget_of(ledger).budget // 30
        error = refused(
            ErrorCode.BUDGET_TOO_SMALL,
            lambda: ledger.write_session(
                "s", batches.open_batch, 1, 100, b"t", {ATHENS: 100 * per_query, CORINTH: 100}
            ),
        )
        assert error.details == {"fits": "30"}
        ledger.write_session("s", batches.open_batch, 1, 30, b"t", {ATHENS: 30 * per_query, CORINTH: 30})

    def test_a_cost_of_dust_does_not_fit_an_exhausted_budget(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 1, b"t", {ATHENS: budget_of(ledger).budget})
        error = refused(
            ErrorCode.BUDGET_TOO_SMALL,
            lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: amount(1e-300)}),
        )
        assert error.details == {"fits": "0"}

    def test_a_unit_without_a_budget_is_refused(self, ledger: Ledger) -> None:
        unknown = ATHENS._replace(adjacency="label")
        refused(
            ErrorCode.BUDGET_MISSING,
            lambda: ledger.write_session("s", batches.open_batch, 1, 1, b"t", {ATHENS: 1, unknown: 1}),
        )
        assert amounts(ledger) == (0, 0)

    def test_a_batch_opened_again_has_its_first_ticket(self, ledger: Ledger) -> None:
        assert ledger.write_session("s", batches.open_batch, 1, 5, b"first", {ATHENS: 7}) == b"first"
        assert ledger.write_session("s", batches.open_batch, 1, 5, b"second", {ATHENS: 9}) == b"first"
        assert amounts(ledger) == (0, 7)
        refused(
            ErrorCode.BATCH_ALTERED,
            lambda: ledger.write_session("s", batches.open_batch, 1, 6, b"t", {ATHENS: 7}),
        )

    def test_a_session_asks_no_more_than_it_may(self, ledger: Ledger) -> None:
        open_session(ledger, "short", queries=10)
        ledger.write_session("short", batches.open_batch, 1, 6, b"t", {ATHENS: 1})
        refused(
            ErrorCode.BATCH_TOO_LARGE,
            lambda: ledger.write_session("short", batches.open_batch, 2, 5, b"t", {ATHENS: 1}),
        )
        ledger.write_session("short", endings.settle, 1)
        ledger.write_session("short", batches.open_batch, 2, 10, b"t", {ATHENS: 1})

    @pytest.mark.parametrize(("batch_id", "size"), [(-1, 1), (2**63, 1), (1, 0)])
    def test_numbers_out_of_range_are_refused(self, ledger: Ledger, batch_id: int, size: int) -> None:
        refused(
            ErrorCode.MESSAGE_INVALID,
            lambda: ledger.write_session("s", batches.open_batch, batch_id, size, b"t", {ATHENS: 1}),
        )

    @pytest.mark.parametrize("reserved", [-1, 0.5, True])
    def test_an_amount_is_a_whole_number(self, ledger: Ledger, reserved: int) -> None:
        with pytest.raises(ValueError, match="reservations"):
            ledger.write_session("s", batches.open_batch, 1, 1, b"t", {ATHENS: reserved})
        with pytest.raises(ValueError, match="worst_case"):
            Charge(ATHENS, reserved, 0)

    # Releases

    def test_a_release_charges_and_returns_what_was_reserved_too_much(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        assert release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 70, 4)) == b"answers"
        assert amounts(ledger, ATHENS) == (60, 0)
        assert amounts(ledger, CORINTH) == (70, 0)
        assert ledger.read(balances.data_dependent_totals) == {ATHENS: 3, CORINTH: 4}

    def test_a_party_that_was_not_frozen_pays_nothing(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        assert amounts(ledger, CORINTH) == (0, 0)

    def test_the_same_request_again_costs_nothing(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        assert ledger.read_session("s", batches.answers, 1, DIGEST) is None
        release(ledger, 1, Charge(ATHENS, 60, 3))
        head = ledger.read(audit.head)
        assert release(ledger, 1, Charge(ATHENS, 60, 3), answers=b"fresh noise") == b"answers"
        assert ledger.read_session("s", batches.answers, 1, DIGEST) == b"answers"
        assert ledger.write_session("s", batches.open_batch, 1, 5, b"other", {ATHENS: 100}) == b"t"
        assert amounts(ledger) == (60, 0)
        assert ledger.read(audit.head) == head

    def test_another_request_under_the_same_id_is_refused(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        other = b"e" * 32
        refused(
            ErrorCode.BATCH_ALTERED,
            lambda: ledger.write_session(
                "s", releases.release, 1, other, b"x", [Charge(ATHENS, 1, 1)], answered=1
            ),
        )
        refused(ErrorCode.BATCH_ALTERED, lambda: ledger.read_session("s", batches.answers, 1, other))

    @pytest.mark.parametrize(
        "charges",
        [
            [],
            [Charge(ATHENS, 101, 0)],
            [Charge(ATHENS, 1, 0), Charge(ATHENS, 1, 0)],
            [Charge(ATHENS, 1, 0), Charge(CORINTH, 1, 0)],
        ],
    )
    def test_charges_outside_the_reservation_change_nothing(
        self, ledger: Ledger, charges: list[Charge]
    ) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        with pytest.raises(ValueError, match="charges"):
            release(ledger, 1, *charges)
        assert amounts(ledger) == (0, 100)
        assert ledger.write_session("s", endings.settle, 1) is None

    def test_a_release_needs_a_ticket(self, ledger: Ledger) -> None:
        refused(ErrorCode.TICKET_INVALID, lambda: release(ledger, 1, Charge(ATHENS, 1, 0)))

    # Settling, closing, ending

    def test_settling_kills_an_unreleased_batch(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        assert ledger.write_session("s", endings.settle, 1) is None
        assert ledger.write_session("s", endings.settle, 1) is None
        assert amounts(ledger) == (0, 0)
        refused(ErrorCode.BATCH_DEAD, lambda: release(ledger, 1, Charge(ATHENS, 1, 0)))
        refused(
            ErrorCode.BATCH_DEAD,
            lambda: ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100}),
        )

    def test_settling_a_released_batch_returns_its_answers(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        assert ledger.write_session("s", endings.settle, 1) == b"answers"

    def test_a_batch_settled_before_its_ticket_arrives_stays_dead(self, ledger: Ledger) -> None:
        assert ledger.write_session("s", endings.settle, 1) is None
        refused(
            ErrorCode.BATCH_DEAD,
            lambda: ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100}),
        )

    def test_batches_that_die_are_limited(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "MAX_DEAD", 3)
        for batch in (8, 9):
            ledger.write_session("s", batches.open_batch, batch, 5, b"t", {ATHENS: 100})
        for batch in (9, 1, 2, 1):
            assert ledger.write_session("s", endings.settle, batch) is None
        refused(ErrorCode.POLICY_OPEN_LIMIT, lambda: ledger.write_session("s", endings.settle, 3))
        refused(
            ErrorCode.POLICY_OPEN_LIMIT,
            lambda: ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 100}),
        )
        release(ledger, 8, Charge(ATHENS, 60, 3))

    def test_sessions_of_a_day_are_limited(
        self, ledger: Ledger, time: ManualClock, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(limits, "SESSIONS_A_DAY", 2)
        open_session(ledger, "second")
        for session in ("s", "second"):
            ledger.write_session(session, endings.close)
        refused(ErrorCode.POLICY_OPEN_LIMIT, lambda: open_session(ledger, "third"))
        open_session(ledger, "second")
        time.advance(DAY_S)
        open_session(ledger, "third")

    def test_a_closed_session_returns_its_reservations(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        ledger.write_session("s", batches.open_batch, 3, 5, b"t", {ATHENS: 50, CORINTH: 50})
        ledger.write_session("s", endings.close)
        ledger.write_session("s", endings.close)
        assert amounts(ledger) == (60, 0)
        assert amounts(ledger, CORINTH) == (0, 0)
        assert release(ledger, 1, Charge(ATHENS, 60, 3)) == b"answers"
        refused(ErrorCode.SESSION_CLOSED, lambda: release(ledger, 2, Charge(ATHENS, 1, 0)))
        refused(
            ErrorCode.SESSION_CLOSED,
            lambda: ledger.write_session("s", batches.open_batch, 4, 5, b"t", {ATHENS: 1}),
        )

    def test_a_session_that_is_unknown(self, ledger: Ledger) -> None:
        for call in (
            lambda: ledger.read(sessions.find_session, "x"),
            lambda: ledger.read_session("x", sessions.find_session),
            lambda: ledger.read_session("x", batches.with_session, 1),
            lambda: ledger.write_session("x", endings.close),
            lambda: ledger.write_session("x", endings.settle, 1),
            lambda: ledger.write_session("x", batches.open_batch, 1, 1, b"t", {ATHENS: 1}),
            lambda: ledger.write_session(
                "x", releases.release, 1, DIGEST, b"a", [Charge(ATHENS, 1, 0)], answered=0
            ),
        ):
            refused(ErrorCode.SESSION_UNKNOWN, call)

    # Data-dependent enforcement

    def test_data_dependent_enforcement_reserves_nothing(self, trusting: Ledger) -> None:
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 10**18})
        assert amounts(trusting) == (0, 0)
        release(trusting, 1, Charge(ATHENS, 10**18, 5), Charge(CORINTH, 10**18, 6))
        assert amounts(trusting) == (10**18, 0)
        assert trusting.read(balances.data_dependent_totals) == {ATHENS: 5, CORINTH: 6}

    def test_a_batch_that_reserves_nothing_survives_a_restart_as_dead(
        self, trusting: Ledger, opener: Opener
    ) -> None:
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {})
        assert opener().write_session("s", endings.settle, 1) is None

    def test_a_data_dependent_budget_is_spent_to_the_last_amount(self, trusting: Ledger) -> None:
        budget = budget_of(trusting).budget
        for batch_id, cost in ((1, budget - 1), (2, 1)):
            trusting.write_session("s", batches.open_batch, batch_id, 5, b"t", {})
            release(trusting, batch_id, Charge(ATHENS, cost, cost))
        assert trusting.read(balances.data_dependent_totals)[ATHENS] == budget

    def test_an_overspent_data_dependent_budget_ends_the_session_and_says_no_more(
        self, trusting: Ledger
    ) -> None:
        budget = budget_of(trusting, CORINTH).budget
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {})
        trusting.write_session("s", batches.open_batch, 2, 5, b"t", {})
        charges = (Charge(ATHENS, 9, 1), Charge(CORINTH, 9, budget + 1))
        error = refused(ErrorCode.SESSION_ENDED, lambda: release(trusting, 1, *charges))
        assert trusting.read(balances.data_dependent_totals) == {ATHENS: 0, CORINTH: budget}
        assert amounts(trusting, ATHENS) == (0, 0)
        assert trusting.write_session("s", endings.settle, 1) is None
        open_session(trusting, "t")
        trusting.write_session("t", endings.end)
        other = refused(
            ErrorCode.SESSION_ENDED, lambda: trusting.write_session("t", batches.open_batch, 1, 1, b"t", {})
        )
        assert error.message.replace("Session s", "Session t") == other.message
        assert error.details == {}
        refused(ErrorCode.SESSION_ENDED, lambda: release(trusting, 2, Charge(ATHENS, 1, 1)))
        assert trusting.read(sessions.find_session, "s").state == "ended"

    def test_a_stop_goes_by_the_answers_that_could_have_been_given(self, trusting: Ledger) -> None:
        budget = budget_of(trusting).budget
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {})
        release(trusting, 1, Charge(ATHENS, 9, 1, at_most=budget))
        trusting.write_session("s", batches.open_batch, 2, 5, b"t", {})
        refused(ErrorCode.SESSION_ENDED, lambda: release(trusting, 2, Charge(ATHENS, 9, 1, at_most=budget)))
        assert trusting.read(balances.data_dependent_totals)[ATHENS] == budget

    def test_worst_case_totals_saturate_where_data_dependent_ones_count(self, trusting: Ledger) -> None:
        for batch_id in (1, 2, 3):
            trusting.write_session("s", batches.open_batch, batch_id, 5, b"t", {})
            release(trusting, batch_id, Charge(ATHENS, 2**70, 1))
        assert amounts(trusting) == (2**62, 0)
        assert trusting.read(balances.data_dependent_totals)[ATHENS] == 3

    def test_a_session_goes_on_without_an_overspent_unit_where_policy_says_so(self, trusting: Ledger) -> None:
        budget = budget_of(trusting).budget
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 1, CORINTH: 1})
        costs = [Charge(ATHENS, 9, budget + 1), Charge(CORINTH, 9, 1)]
        refused(
            ErrorCode.BATCH_DEAD,
            lambda: trusting.write_session(
                "s", releases.release, 1, DIGEST, b"a", costs, answered=5, vanish=True
            ),
        )
        assert trusting.read(balances.units_without_budget, [ATHENS, CORINTH]) == {ATHENS}
        assert trusting.read(balances.data_dependent_totals) == {ATHENS: budget, CORINTH: 0}
        assert trusting.write_session("s", endings.settle, 1) is None
        trusting.write_session("s", batches.open_batch, 2, 5, b"t", {CORINTH: 1})
        release(trusting, 2, Charge(CORINTH, 9, 1))

    @pytest.mark.parametrize("vanish", [False, True])
    def test_copies_of_the_units_do_not_show_who_ran_out(
        self, trusting: Ledger, where: Path | str, vanish: bool
    ) -> None:
        before = sealed_totals(where)
        trusting.write_session("s", batches.open_batch, 1, 5, b"t", {})
        costs = [Charge(ATHENS, 9, budget_of(trusting).budget + 1), Charge(CORINTH, 9, 1)]
        with pytest.raises(OstrakaError):
            trusting.write_session("s", releases.release, 1, DIGEST, b"a", costs, answered=5, vanish=vanish)
        after = sealed_totals(where)
        assert trusting.read(balances.units_without_budget, [ATHENS, CORINTH]) == {ATHENS}
        assert {key for key in before if before[key] != after[key]} == {ATHENS, CORINTH}
        assert {len(blob) for blob in (*before.values(), *after.values())} == {len(before[ATHENS])}

    def test_a_batch_with_a_used_up_unit_tries_no_other(self, trusting: Ledger) -> None:
        """Otherwise others' budgets could be tried in it, free of charge."""
        for batch_id in (1, 2):
            trusting.write_session("s", batches.open_batch, batch_id, 5, b"t", {})
        much = budget_of(trusting).budget + 1
        for batch_id, of_corinth in ((1, 1), (2, much)):
            costs = [Charge(ATHENS, 9, much), Charge(CORINTH, 9, of_corinth)]
            with pytest.raises(OstrakaError):
                trusting.write_session(
                    "s", releases.release, batch_id, DIGEST, b"a", costs, answered=5, vanish=True
                )
        assert trusting.read(balances.units_without_budget, [ATHENS, CORINTH]) == {ATHENS}

    # Units that leave

    @pytest.mark.parametrize("leave", ["freeze", "withdraw"])
    def test_a_unit_that_left_takes_part_in_no_new_batch_and_pays_for_its_votes(
        self, ledger: Ledger, leave: str
    ) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        if leave == "freeze":
            ledger.write(budgets.freeze, ATHENS, frozen=True, reason="asked to")
        else:
            ledger.write(budgets.withdraw, ATHENS, reason="asked to")
        for held in ({ATHENS: 1}, {ATHENS: 1, CORINTH: 1}):
            refused(
                ErrorCode.BATCH_DEAD,
                lambda: ledger.write_session("s", batches.open_batch, 2, 5, b"t", held),  # noqa: B023
            )
        assert ledger.write_session("s", batches.open_batch, 2, 5, b"t", {CORINTH: 1}) == b"t"
        release(ledger, 1, Charge(ATHENS, 60, 3), Charge(CORINTH, 60, 3))
        assert amounts(ledger) == (60, 0)

    # Limits by the day

    def test_a_querying_party_asks_no_more_in_a_day_than_policy_says(self, ledger: Ledger) -> None:
        def ask(session: str, batch_id: int, size: int) -> bytes:
            return ledger.write_session(
                session, batches.open_batch, batch_id, size, b"t", {ATHENS: 1}, daily_limit=10
            )

        open_session(ledger, "t")
        session_opening.open_session(
            ledger, StoredSession("u", "another querier", b"p", b"u", b"g", queries=1000)
        )
        ask("s", 1, 6)
        error = refused(ErrorCode.POLICY_DAILY_LIMIT, lambda: ask("t", 1, 5))
        assert error.details == {"left": "4"}
        assert amounts(ledger) == (0, 1)
        assert ledger.read_session("t", batches.find_batch, 1) is None
        ask("u", 1, 10)
        ask("t", 1, 4)
        refused(ErrorCode.POLICY_DAILY_LIMIT, lambda: ask("s", 2, 1))
        ledger.write_session("s", endings.settle, 1)
        ask("s", 2, 6)

    def test_a_day_is_over_after_24_hours(self, ledger: Ledger, time: ManualClock) -> None:
        ledger.write_session("s", batches.open_batch, 1, 10, b"t", {ATHENS: 1}, daily_limit=10)
        time.advance(DAY_S - 1)
        refused(
            ErrorCode.POLICY_DAILY_LIMIT,
            lambda: ledger.write_session("s", batches.open_batch, 2, 1, b"t", {ATHENS: 1}, daily_limit=10),
        )
        time.advance(1)
        ledger.write_session("s", batches.open_batch, 2, 10, b"t", {ATHENS: 1}, daily_limit=10)

    # What batches cost on their votes

    def test_figures_replace_the_worst_case_of_a_charge_and_nothing_else(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100, CORINTH: 100})
        release(ledger, 1, Charge(ATHENS, 60, 60), Charge(CORINTH, 50, 50))
        before, head = ledger.read(balances.all_budgets), ledger.read(audit.head)
        for _ in range(2):
            ledger.write_session("s", charging.store_figures, 1, {ATHENS: 3, CORINTH: 70})
        assert [(c.worst_case, c.data_dependent) for c in ledger.read(recorded_charges.charges, "s")] == [
            (60, 3),
            (50, 70),
        ]
        assert (ledger.read(balances.all_budgets), ledger.read(audit.head)) == (before, head)
        assert ledger.read(balances.data_dependent_totals) == {ATHENS: 60, CORINTH: 50}
        ledger.write_session("s", endings.close)
        ledger.write_session("s", charging.store_figures, 1, {ATHENS: 4})
        assert [c.data_dependent for c in ledger.read(recorded_charges.charges, "s")] == [4, 70]

    def test_figures_of_what_was_not_charged_are_refused(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        refused(
            ErrorCode.BATCH_DEAD, lambda: ledger.write_session("s", charging.store_figures, 1, {ATHENS: 3})
        )
        refused(
            ErrorCode.BATCH_DEAD, lambda: ledger.write_session("s", charging.store_figures, 2, {ATHENS: 3})
        )
        release(ledger, 1, Charge(ATHENS, 60, 60))
        for figures in ({ATHENS: 101}, {CORINTH: 1}, {ATHENS: -1}):
            with pytest.raises(ValueError, match="figures"):
                ledger.write_session("s", charging.store_figures, 1, figures)
        assert [c.data_dependent for c in ledger.read(recorded_charges.charges, "s")] == [60]

    # Sessions, parties, reports

    def test_a_plan_opens_one_session(self, ledger: Ledger) -> None:
        again = session_opening.open_session(
            ledger, StoredSession("another id", "querier", b"plan", b"s", b"another grant", queries=9)
        )
        assert (again.session_id, again.grant, again.queries) == ("s", b"grant of s", 1000)
        assert (
            session_opening.find_session(ledger, "querier", b"s")
            == again
            == ledger.read(sessions.find_session, "s")
        )
        assert session_opening.find_session(ledger, "someone else", b"s") is None
        other = session_opening.open_session(
            ledger, StoredSession("t", "someone else", b"plan", b"s", b"g", queries=9)
        )
        assert other.session_id == "t"

    def test_summaries_count_live_batches(self, ledger: Ledger) -> None:
        for batch_id in (1, 2, 3):
            ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        ledger.write_session("s", endings.settle, 2)
        (summary,) = ledger.read(sessions.summaries)
        assert (summary.queries, summary.asked, summary.answered) == (1000, 10, 1)
        assert (summary.state, summary.opened_unix_s) == ("open", int(START))

    def test_the_latest_manifest_counts(self, ledger: Ledger) -> None:
        first = ledger.write(registrations.register, "athens", b"m1", b"signed m1")
        assert ledger.write(registrations.register, "athens", b"m1", b"signed m1") == first
        ledger.write(registrations.register, "athens", b"m2", b"signed m2")
        ledger.write(registrations.register, "corinth", b"m3", b"signed m3")
        assert ledger.read(manifests.latest, ["athens"])["athens"].signed == b"signed m2"
        assert set(ledger.read(manifests.latest)) == {"athens", "corinth"}

    def test_revocation_lists_are_found_after_what_was_read(self, ledger: Ledger) -> None:
        assert ledger.read(revocations.after).pems == ()
        for number in (2, 2, 1):
            ledger.write(revocations.apply, f"list {number}", number=number, revoked=2, reason="stolen")
        applied = ledger.read(revocations.after)
        assert applied.pems == (b"list 2", b"list 1")
        assert applied.row == ledger.read(audit.head).sequence
        kinds = [json.loads(row.payload)["kind"] for row in audit.audit_rows(ledger)]
        assert kinds.count("revocations_applied") == 2
        ledger.write(parties.set_party, "athens", "added", reason='"kind":"revocations_applied"')
        assert ledger.read(revocations.after, applied.row).pems == ()
        assert ledger.read(revocations.after, applied.row - 1).pems == (b"list 1",)

    def test_charges_are_kept_by_batch(self, ledger: Ledger) -> None:
        for batch_id in (1, 2):
            ledger.write_session("s", batches.open_batch, batch_id, 5, b"t", {ATHENS: 100})
            release(ledger, batch_id, Charge(ATHENS, 60 + batch_id, batch_id))
        recorded = ledger.read(recorded_charges.charges, "s")
        assert [(c.batch_id, c.unit, c.worst_case, c.data_dependent) for c in recorded] == [
            (1, ATHENS, 61, 1),
            (2, ATHENS, 62, 2),
        ]
        assert ledger.read(recorded_charges.charges, "t") == []

    # Restart, fence, races

    def test_a_restart_voids_what_was_not_answered(self, ledger: Ledger, opener: Opener) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        release(ledger, 1, Charge(ATHENS, 60, 3))
        ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100})
        later = opener()
        assert amounts(later) == (60, 0)
        assert later.write_session("s", endings.settle, 1) == b"answers"
        refused(ErrorCode.BATCH_DEAD, lambda: release(later, 2, Charge(ATHENS, 1, 0)))
        assert later.read(sessions.find_session, "s").state == "open"

    def test_an_older_process_is_fenced(self, ledger: Ledger, opener: Opener) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        later = opener()
        before = later.read(audit.head)
        for call in (
            lambda: release(ledger, 1, Charge(ATHENS, 60, 3)),
            lambda: ledger.write_session("s", batches.open_batch, 2, 5, b"t", {ATHENS: 100}),
            lambda: ledger.write_session("s", endings.settle, 1),
            lambda: ledger.write(registrations.register, "athens", b"m", b"s"),
            lambda: ledger.write(budgets.set_budget, ATHENS, BudgetTerms(1.0, DELTA, ORDER, "worst_case")),
            lambda: ledger.read_session("s", batches.answers, 1, DIGEST),
            lambda: ledger.read(balances.all_budgets),
        ):
            refused(ErrorCode.LEDGER_FENCED, call)
        assert later.read(audit.head) == before

    def test_threads_race_for_the_last_budget(self, ledger: Ledger) -> None:
        budget = budget_of(ledger).budget
        winners = race(ledger, [ledger] * 8, budget // 3)
        assert winners == 3
        assert budget_of(ledger).available == budget - 3 * (budget // 3)

    def test_sessions_race_for_the_last_of_all_budgets(self, ledger: Ledger) -> None:
        """Each names the units in another order; all release what they got."""
        budget = budget_of(ledger).budget
        assert race_of_sessions([ledger] * SESSIONS, budget // 10) == 10
        for unit in (ATHENS, CORINTH):
            assert amounts(ledger, unit) == (10 * (budget // 10), 0)

    def test_a_plan_opened_many_times_at_once_is_one_session(self, ledger: Ledger) -> None:
        with ThreadPoolExecutor(SESSIONS) as pool:
            opened = pool.map(
                lambda n: session_opening.open_session(
                    ledger, StoredSession(f"id {n}", "q", b"plan", b"same", b"g", queries=9)
                ),
                range(SESSIONS),
            )
        assert len({session.session_id for session in opened}) == 1

    def test_concurrent_duplicates_are_charged_once(self, ledger: Ledger) -> None:
        ledger.write_session("s", batches.open_batch, 1, 5, b"t", {ATHENS: 100})
        with ThreadPoolExecutor(8) as pool:
            replies = list(
                pool.map(
                    lambda n: release(ledger, 1, Charge(ATHENS, 60, 3), answers=b"noise %d" % n), range(8)
                )
            )
        assert len(set(replies)) == 1
        assert amounts(ledger) == (60, 0)


def race(ledger: Ledger, handles: list[Ledger], cost: int) -> int:
    """Return how many of `handles`, each on its own thread, get a ticket that costs `cost`."""

    def ask(numbered: tuple[int, Ledger]) -> bool:
        batch_id, handle = numbered
        try:
            handle.write_session("s", batches.open_batch, batch_id, 1, b"t", {ATHENS: cost})
        except OstrakaError as exc:
            if exc.code == ErrorCode.BUDGET_TOO_SMALL:
                return False
            raise
        return True

    with ThreadPoolExecutor(len(handles)) as pool:
        return sum(pool.map(ask, enumerate(handles)))


def race_of_sessions(handles: list[Ledger], cost: int) -> int:
    """Return how many batches are released in total by sessions on separate threads, one per handle.

    Each continues until nothing is left, and takes the units in a different order.
    """

    def ask(numbered: tuple[int, Ledger]) -> int:
        number, handle = numbered
        session = f"race {number}"
        open_session(handle, session)
        units = (ATHENS, CORINTH) if number % 2 else (CORINTH, ATHENS)
        released = 0
        while True:
            try:
                handle.write_session(
                    session, batches.open_batch, released, 1, b"t", dict.fromkeys(units, cost)
                )
            except OstrakaError as exc:
                if exc.code == ErrorCode.BUDGET_TOO_SMALL:
                    return released
                raise
            charges = [Charge(unit, cost, 1) for unit in units]
            handle.write_session(session, releases.release, released, DIGEST, b"a", charges, answered=1)
            released += 1

    with ThreadPoolExecutor(len(handles)) as pool:
        return sum(pool.map(ask, enumerate(handles)))
