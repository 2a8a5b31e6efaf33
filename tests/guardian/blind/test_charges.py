"""Each stage is charged before its tables leave; what was charged stands, and nothing else is."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, Check, Confident, GnMax
from ostraka.common.rpc import call_error
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.blind.blind_tally import Stage
from ostraka.guardian.ledger import LedgerReader
from ostraka.guardian.ledger.sessions import releases
from ostraka.guardian.ledger.units import balances
from ostraka.guardian.sessions.registry import KEPT
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.blind.querying import ANSWERS, CHECK, RING, Querying, asked, blind_plan
from tests.guardian.federation import PARTIES, Calls, Federation, refusal, unanimous

QUERIES = 10
PER_LABEL = Binary(sigma=3.0, check=Check(sigma=1.0, threshold=23.0))
CHECKED = [Confident(sigma1=1.0, sigma2=2.0, threshold=23.0), PER_LABEL]


def split() -> np.ndarray[Any, np.dtype[np.int64]]:
    """Votes of which every second query passes a check, but for noise of seven sigmas."""
    votes = np.full((len(PARTIES), QUERIES, 4), 5)
    votes[:, ::2] = 10
    return votes


@dataclass
class Books:
    """A guardian's ledger, read from its file as somebody else would."""

    federation: Federation
    seen: list[tuple[int, int]] = field(default_factory=list)

    def read(self, site: str = "a") -> tuple[int, int]:
        """Amounts spent and reserved of a party's one unit."""
        with LedgerReader.open_read_only(self.federation.guardian_folder / "ledger.db") as ledger:
            (budget,) = ledger.read(balances.all_budgets, site)
            return budget.spent, budget.reserved

    def order(self) -> float:
        with LedgerReader.open_read_only(self.federation.guardian_folder / "ledger.db") as ledger:
            return ledger.read(balances.all_budgets, "a")[0].order


@pytest.fixture
def books(federation: Federation, monkeypatch: pytest.MonkeyPatch) -> Books:
    """Return the ledger as it is on disk, and as it was each time that tables were about to be made."""
    books = Books(federation)
    honest = Stage.tables

    def tables(stage: Stage) -> Any:
        books.seen.append(books.read())
        return honest(stage)

    monkeypatch.setattr(Stage, "tables", tables)
    return books


@pytest.mark.parametrize("mechanism", CHECKED, ids=lambda m: m.kind)
def test_a_check_costs_for_all_and_answers_for_those_that_passed(
    guardian: Calls, books: Books, mechanism: Any
) -> None:
    querying = asked(guardian, blind_plan(mechanism=mechanism, multi_label=mechanism is PER_LABEL), split())
    assert books.read()[0] == 0
    passed = querying.check()
    assert passed[:, 0].tolist() == [True, False] * (QUERIES // 2)
    cost = mechanism.worst_case(books.order(), classes=4)
    whole = cost.reservation(QUERIES, passed.shape[1])
    check = cost.amount(np.zeros_like(passed))
    assert 0 < check < whole
    querying.answers(passed)
    answered = cost.amount(passed)
    assert check < answered < whole
    assert books.seen == [(check, whole - check), (answered, 0)]
    assert books.read() == books.read("c") == (answered, 0)


@pytest.mark.heavy
def test_without_a_check_the_answers_alone_are_charged(guardian: Calls, books: Books) -> None:
    mechanism = GnMax(sigma=3.0)
    asked(guardian, blind_plan(mechanism=mechanism), split()).answers()
    cost = mechanism.worst_case(books.order(), classes=4)
    assert books.seen == [(cost.reservation(QUERIES, 1), 0)]


@pytest.mark.heavy
def test_where_nothing_passes_the_check_is_the_whole_charge(guardian: Calls, books: Books) -> None:
    mechanism = Confident(sigma1=1.0, sigma2=1.0, threshold=500.0)
    querying = asked(guardian, blind_plan(mechanism=mechanism), split())
    assert not querying.check().any()
    point = querying.begun(ANSWERS, QUERIES).point()
    assert [querying.begin(ANSWERS, point) for _ in range(2)] == [b"", b""]
    assert refusal(lambda: querying.begin(ANSWERS, bytes(32))) == "batch.altered"
    assert refusal(lambda: querying.garble(ANSWERS, b"")) == "batch.out_of_order"
    settled = guardian.settle(querying.session, 1)
    assert settled.released
    assert [answer.answered for answer in settled.answers] == [False] * QUERIES
    check = mechanism.worst_case(books.order(), classes=4).amount(np.zeros((QUERIES, 1), dtype=np.bool_))
    assert books.read() == (check, 0)


@pytest.mark.heavy
def test_a_guardian_that_dies_between_the_stages_has_charged_the_check(federation: Federation) -> None:
    books = Books(federation)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        querying = asked(guardian, blind_plan(), unanimous(QUERIES))
        passed = querying.check()
        spent, reserved = books.read()
        extension = querying.extension(ANSWERS, int(passed.sum()))
    assert spent > 0
    assert reserved > 0
    with federation.guardian() as guardian:
        querying.guardian = guardian
        assert books.read() == (spent, 0)
        for call in (
            lambda: querying.extension(CHECK, QUERIES),
            lambda: querying.garble(ANSWERS, extension),
            lambda: querying.open_check(querying.evaluations[CHECK].labels_to_return()),
        ):
            assert refusal(call) == "batch.dead"
        assert not guardian.settle(querying.session, 1).released
        assert books.read() == (spent, 0)
        (row,) = rows_of(guardian.admin.ListCharges(admin_pb2.ListChargesRequest(party="a")))
        assert (row.bound, row.tally, row.batch_id) == ("worst_case", "blind", 1)
        assert row.epsilon == guardian.spent() > 0


@pytest.mark.heavy
@pytest.mark.parametrize("stage", [CHECK, ANSWERS])
def test_a_guardian_that_dies_before_tables_leave_has_charged_no_more(
    federation: Federation, stage: Any
) -> None:
    books = Books(federation)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        querying = asked(guardian, blind_plan(), unanimous(QUERIES))
        if stage == ANSWERS:
            querying.check()
        spent, _ = books.read()
        querying.extension(stage, QUERIES)
    with federation.guardian():
        assert books.read() == (spent, 0)


@pytest.mark.heavy
def test_released_answers_outlive_the_guardian_and_say_nothing(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.prepare_all()
        querying = asked(guardian, blind_plan(), unanimous(QUERIES))
        querying.answers(querying.check())
    with federation.guardian() as guardian:
        settled = guardian.settle(querying.session, 1)
        assert [(answer.answered, answer.label) for answer in settled.answers] == [(True, 0)] * QUERIES


@pytest.mark.heavy
def test_a_ledger_locked_at_the_charge_lets_nothing_out(
    guardian: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    querying = asked(guardian, blind_plan(), unanimous(QUERIES))
    for stage, charge in ((CHECK, "check"), (ANSWERS, "release")):
        evaluation = querying.begun(stage, QUERIES)
        extension = querying.extension(stage, QUERIES)
        with monkeypatch.context() as patched:
            patched.setattr(releases, charge, _locked)
            assert refusal(lambda: querying.garble(stage, extension)) == "ledger.locked"  # noqa: B023
            assert refusal(lambda: querying.compare(stage, b"")) == "batch.out_of_order"  # noqa: B023
        evaluation.take(querying.garble(stage, extension))
        evaluation.evaluate(querying.compare(stage, evaluation.correction(querying.words(stage))))
        if stage == CHECK:
            querying.open_check(evaluation.labels_to_return())


def _locked(*_: Any, **__: Any) -> None:
    raise OstrakaError(ErrorCode.LEDGER_LOCKED, "Locked for this test.")


@pytest.mark.heavy
def test_tables_asked_for_many_times_at_once_are_charged_once(guardian: Calls, books: Books) -> None:
    querying = asked(guardian, blind_plan(), unanimous(QUERIES))
    extension = querying.extension(CHECK, QUERIES)
    with ThreadPoolExecutor(4) as pool:
        tables = set(pool.map(lambda _: querying.garble(CHECK, extension), range(4)))
    assert len(tables) == 1
    assert len(set(books.seen)) == 1
    querying.evaluations[CHECK].take(tables.pop())


@pytest.mark.heavy
def test_a_settled_batch_gives_back_what_its_check_did_not_cost(guardian: Calls, books: Books) -> None:
    querying = asked(guardian, blind_plan(), unanimous(QUERIES))
    querying.check()
    spent, reserved = books.read()
    assert not guardian.settle(querying.session, 1).released
    assert books.read() == (spent, 0)
    assert reserved > 0


@pytest.mark.heavy
def test_batches_go_on_until_the_budget_is_spent_and_no_further(federation: Federation) -> None:
    """Every third one dies after its check, whose charge then keeps others out."""
    plan = blind_plan(queries=2000)
    with federation.guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
            guardian.budget(site, 60.0)
        session = guardian.open(plan).session_id
        batch = 1
        while (fits := _ticketed(guardian, session, batch)) is None:
            sums = guardian.vote(session, batch, unanimous(1), ring=RING)
            querying = Querying(guardian, plan, session, batch, sums)
            passed = querying.check()
            if batch % 3:
                querying.answers(passed)
            guardian.settle(session, batch)
            batch += 1
        assert fits == "budget.too_small"
        assert batch > 6
        assert 40 < guardian.spent() <= 60


@pytest.mark.heavy
def test_released_batches_are_forgotten_but_for_the_last(guardian: Calls) -> None:
    plan = blind_plan(mechanism=GnMax(sigma=3.0))
    session = guardian.open(plan).session_id
    repeated = []
    for batch in range(1, KEPT + 2):
        guardian.ticket(session, batch, 1)
        querying = Querying(
            guardian, plan, session, batch, guardian.vote(session, batch, unanimous(1), ring=RING)
        )
        querying.answers()
        correction = querying.evaluations[ANSWERS].correction(querying.words(ANSWERS))
        repeated.append((querying, correction))
    first, correction = repeated.pop(0)
    assert refusal(lambda: first.compare(ANSWERS, correction)) == "batch.dead"
    assert guardian.settle(session, 1).released
    for querying, correction in repeated:
        assert querying.compare(ANSWERS, correction)


def test_a_check_counts_for_the_day_even_if_its_batch_died(guardian: Calls) -> None:
    guardian.apply_policy(f"max_queries_per_day = {2 * QUERIES}\n")
    querying = asked(guardian, blind_plan(), unanimous(QUERIES))
    querying.check()
    guardian.settle(querying.session, 1)
    guardian.ticket(querying.session, 2, QUERIES)
    guardian.settle(querying.session, 2)
    assert refusal(lambda: guardian.ticket(querying.session, 3, QUERIES + 1)) == "policy.daily_limit"
    guardian.ticket(querying.session, 4, QUERIES)


@pytest.mark.heavy
def test_released_answers_count_among_the_queries_of_a_session(guardian: Calls) -> None:
    querying = asked(guardian, blind_plan(queries=QUERIES + 5, batch_size=QUERIES), unanimous(QUERIES))
    querying.answers(querying.check())
    with pytest.raises(grpc.RpcError) as refused:
        guardian.ticket(querying.session, 2, QUERIES)
    error = call_error(refused.value)
    assert (error.code, error.details) == (ErrorCode.BATCH_TOO_LARGE, {"left": "5"})


def _ticketed(guardian: Calls, session: str, batch: int) -> str | None:
    """Return the code that a batch of one query is refused with, or None if it is not."""
    try:
        guardian.ticket(session, batch, 1)
    except grpc.RpcError as exc:
        return str(call_error(exc).code)
    return None
