"""Trainings through a real guardian: their sums, their noise, their cost, and who may ask for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode
from ostraka.common.identity import Role
from ostraka.common.mechanism import DpTtac
from ostraka.common.privacy import AMOUNT_UNIT, ORDERS, budget_amount, budget_rdp, epsilon
from ostraka.common.privacy.filters import GAUSSIAN
from ostraka.common.privacy.gaussian import gaussian_budget, gaussian_epsilon
from ostraka.common.rpc import call_error
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.upkeep import back_up, restore
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import PARTIES, Federation, group, plan, receipt, refusal
from tests.guardian.training import (
    ALLOWING,
    BY_PARTY,
    DP,
    RECIPE,
    ROUNDS,
    TTAC,
    D,
    Lead,
    Recording,
    training,
    updates,
)
from tests.signed_lists import grant_of


@contextmanager
def leading(federation: Federation, *, noise: Recording | None = None) -> Iterator[Lead]:
    """Run a guardian, and yield it as party a calls it."""
    with federation.guardian(noise) as calls:
        lead = Lead(federation, calls.address)
        try:
            yield lead
        finally:
            lead.close()


@pytest.fixture
def lead(tmp_path: Path) -> Iterator[Lead]:
    """Run a guardian under a policy that names no mechanisms, with teachers that learn by dp-ttac."""
    with leading(Federation(tmp_path)) as lead:
        lead.join_all("dp-ttac")
        yield lead


@pytest.fixture
def open_lead(tmp_path: Path) -> Iterator[Lead]:
    """Run a guardian whose policy names ttac, with teachers that learn by it."""
    with leading(Federation(tmp_path, policy=ALLOWING)) as lead:
        lead.join_all("ttac")
        yield lead


def cost_of(lead: Lead, mechanism: DpTtac, rounds: int, *, votes: int = 1) -> float:
    """Epsilon of rounds to a record of party a, at worst."""
    (budget,) = lead.budgets("a").values()
    worst = mechanism.worst_case(budget.order, votes, classes=4)
    return epsilon(worst.reservation(rounds, 1) * AMOUNT_UNIT, budget.order, budget.delta)


@pytest.mark.heavy
def test_a_sum_without_noise_is_exact_costs_nothing_and_is_marked(open_lead: Lead) -> None:
    session, sent = open_lead.begin(training(TTAC)), updates()
    released = open_lead.round(session, 1, sent)
    np.testing.assert_array_equal(released, sent.sum(axis=0))
    settled = open_lead.settle(session, 1)
    assert (settled.released, list(settled.answers)) == (True, [])
    np.testing.assert_array_equal(open_lead.released(session, 1), released)
    assert open_lead.spent() == 0
    rows = list(rows_of(open_lead.admin.ListCharges(admin_pb2.ListChargesRequest())))
    assert [(row.party, row.epsilon, row.unguaranteed) for row in rows] == [(p, 0, True) for p in PARTIES]
    assert open_lead.admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=session)).unguaranteed


def test_a_sum_is_listed_though_the_clock_went_back_before_it(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with leading(Federation(tmp_path, clock, policy=ALLOWING)) as lead:
        lead.join_all("ttac")
        session = lead.begin(training(TTAC))
        clock.advance(-10)
        lead.round(session, 1, updates())
        rows = list(rows_of(lead.admin.ListCharges(admin_pb2.ListChargesRequest())))
    assert [(row.epsilon_worst_case, row.unguaranteed) for row in rows] == [(0, True)] * len(PARTIES)


@pytest.mark.parametrize("mechanism", [DP, BY_PARTY], ids=["record", "party"])
def test_a_sum_gets_the_noise_that_was_drawn_and_is_charged_whole(tmp_path: Path, mechanism: DpTtac) -> None:
    noise, sent = Recording(), updates()
    with leading(Federation(tmp_path), noise=noise) as lead:
        lead.join_all("dp-ttac")
        session = lead.begin(training(mechanism))
        released = lead.round(session, 1, sent)
        assert len(noise.drawn) == 1
        np.testing.assert_array_equal(released, sent.sum(axis=0) + noise.drawn[0].ravel())
        assert lead.spent() == cost_of(lead, mechanism, 1)
        shown = lead.admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=session))
    assert (shown.unguaranteed, shown.bound, shown.session.answered) == (False, "worst_case", 1)
    assert f"clip {mechanism.clip}, radius 1, sigma 30, model mlp, parameters 7" in shown.mechanism


def test_a_record_of_several_teachers_costs_more_by_their_square(lead: Lead) -> None:
    lead.register("a", together="dp-ttac", mixed=True, groups=[group("all", copies=2)])
    lead.round(lead.begin(training()), 1, updates())
    assert lead.spent("a") == cost_of(lead, DP, 1, votes=2) > lead.spent("b") == cost_of(lead, DP, 1)


@pytest.mark.parametrize("bound", ["worst_case", "theorem6", "exact"])
@pytest.mark.parametrize("enforce", ["worst_case", "data_dependent"])
def test_every_bound_and_enforcement_charges_the_same(tmp_path: Path, bound: str, enforce: str) -> None:
    policy = f'enforce = "{enforce}"\nbound = "{bound}"\nmin_sigma = 0.5\n'
    federation = Federation(tmp_path, policy=policy)
    with leading(federation) as lead:
        lead.join_all("dp-ttac")
        lead.round(lead.begin(training()), 1, updates())
        assert lead.spent() == cost_of(lead, DP, 1)


@pytest.mark.heavy
def test_a_budget_pays_for_the_rounds_that_were_planned_and_for_none_more(tmp_path: Path) -> None:
    with leading(Federation(tmp_path)) as lead:
        lead.join_all("dp-ttac", epsilon=1.0)
        (budget,) = lead.budgets("a").values()
        each = DP.worst_case(budget.order, classes=4).reservation(1, 1)
        rounds = budget_amount(budget_rdp(1.0, budget.delta, budget.order)) // each
        assert rounds > 1
        asked = training(queries=rounds + 1)
        reply = lead.query.Plan(guardian_pb2.PlanRequest(plan=asked.serialize()))
        assert reply.parties[0].fits == rounds
        session = lead.begin(asked)
        for batch in range(1, rounds + 1):
            lead.round(session, batch, updates())
        with pytest.raises(grpc.RpcError) as refused:
            lead.ticket(session, rounds + 1, 1)
        error = call_error(refused.value)
        assert (error.code, error.details["fits"]) == (ErrorCode.BUDGET_TOO_SMALL, "0")
        assert lead.spent() == cost_of(lead, DP, rounds) <= 1.0
        assert lead.budgets("a")["all"].epsilon_reserved == 0


def test_a_gaussian_filter_pays_for_more_of_the_same_rounds(tmp_path: Path) -> None:
    with leading(Federation(tmp_path)) as lead:
        lead.join_all("dp-ttac", epsilon=1.0)
        lead.register("a", together="dp-ttac", groups=[group("sums")])
        assert lead.budget("a", 1.0, group="sums", filter="gaussian").filter == "gaussian"
        each = DP.worst_case(GAUSSIAN, classes=4).reservation(1, 1)
        parties = lead.query.Plan(guardian_pb2.PlanRequest(plan=training().serialize())).parties
        assert (parties[0].order, parties[0].group) == (0, "sums")
        assert parties[0].fits == budget_amount(gaussian_budget(1.0, 1e-5)) // each
        session = lead.begin(training(queries=2))
        lead.round(session, 1, updates())
        lead.round(session, 2, updates())
        found = lead.budgets("a")["sums"]
    assert found.epsilon_worst_case == gaussian_epsilon(2 * each * AMOUNT_UNIT, 1e-5)
    rdp = [2 * DP.worst_case(order, classes=4).answer for order in ORDERS]
    assert 0.85 < found.epsilon_worst_case / epsilon(rdp, ORDERS, 1e-5) < 0.95


def test_a_party_learns_no_balance_of_others_from_what_a_training_would_cost(lead: Lead) -> None:
    lead.register("b", together="dp-ttac", groups=[group("x"), group("y")])
    lead.budget("b", 50.0, group="x")
    lead.budget("b", 40.0, group="y")
    session = lead.begin(training())

    def told() -> list[guardian_pb2.PartyCost]:
        return list(lead.query.Plan(guardian_pb2.PlanRequest(plan=training().serialize())).parties)

    before = told()
    lead.round(session, 1, updates())
    after = told()
    assert after[0].fits < before[0].fits
    assert after[1:] == before[1:]
    assert [party.HasField("fits") for party in after] == [True, False, False]
    assert [party.group for party in after] == ["all", "y", "all"]


@pytest.mark.heavy
def test_a_party_that_cannot_be_reached_is_left_out_and_pays_nothing(lead: Lead) -> None:
    session, sent = lead.begin(training()), updates(2)
    ticket = lead.ticket(session, 1, 1, unavailable=["c"])
    assert [schedule.participant.site for schedule in ticket.schedule] == ["a", "b"]
    lead.sum(session, 1, lead.trained(session, 1, sent, "ab"))
    assert lead.spent("a") > lead.spent("c") == 0
    lead.round(session, 2, updates())
    assert lead.spent("a") > lead.spent("c") == cost_of(lead, DP, 1)


def test_a_party_that_drops_out_of_a_round_is_not_in_its_sum(tmp_path: Path) -> None:
    clock, sent = ManualClock(SystemClock().now()), updates()
    with leading(Federation(tmp_path, clock, policy=ALLOWING)) as lead:
        lead.join_all("ttac")
        session = lead.begin(training(TTAC))
        lead.ticket(session, 1, 1)
        kept = lead.halves(session, 1, sent[:2], "ab")
        assert not lead.prepare(session, 1).frozen
        clock.advance(31)
        assert list(lead.prepare(session, 1).frozen) == ["a", "b"]
        assert refusal(lambda: lead.halves(session, 1, sent[2:], "c")) == "batch.frozen"
        released = lead.sum(session, 1, kept["a"] + kept["b"])
        np.testing.assert_array_equal(released, sent[:2].sum(axis=0))


@pytest.mark.heavy
def test_a_round_without_its_quorum_is_dead_and_free_and_the_next_one_goes_on(tmp_path: Path) -> None:
    clock, sent = ManualClock(SystemClock().now()), updates()
    with leading(Federation(tmp_path, clock)) as lead:
        lead.join_all("dp-ttac")
        session = lead.begin(training())
        lead.ticket(session, 1, 1)
        lead.halves(session, 1, sent[:1], "a")
        clock.advance(31)
        assert refusal(lambda: lead.prepare(session, 1)) == "quorum.lost"
        assert not lead.settle(session, 1).released
        assert refusal(lambda: lead.released(session, 1)) == "batch.out_of_order"
        assert (lead.spent(), lead.budgets("a")["all"].epsilon_reserved) == (0, 0)
        assert refusal(lambda: lead.ticket(session, 2, 1, unavailable=["b", "c"])) == "quorum.lost"
        assert len(lead.round(session, 3, sent)) == D


@pytest.mark.heavy
def test_a_restart_gives_the_same_bytes_again_and_charges_nothing(tmp_path: Path) -> None:
    federation, sent = Federation(tmp_path), updates()
    with leading(federation) as lead:
        lead.join_all("dp-ttac")
        session = lead.begin(training())
        lead.ticket(session, 1, 1)
        total = lead.trained(session, 1, sent)
        released = lead.sum(session, 1, total)
        lead.ticket(session, 2, 1)
        unreleased = lead.trained(session, 2, sent)
    with leading(federation) as lead:
        np.testing.assert_array_equal(lead.sum(session, 1, total), released)
        np.testing.assert_array_equal(lead.released(session, 1), released)
        assert lead.spent() == cost_of(lead, DP, 1)
        assert refusal(lambda: lead.sum(session, 1, total + np.uint64(1))) == "batch.altered"
        assert refusal(lambda: lead.sum(session, 2, unreleased)) == "batch.dead"
        assert not np.array_equal(lead.round(session, 3, sent), released)


def test_a_large_sum_travels_in_chunks(tmp_path: Path) -> None:
    size = 2**17 + 3
    large = TTAC.model_copy(update={"recipe": RECIPE.model_copy(update={"parameters": size})})
    with leading(Federation(tmp_path, policy=ALLOWING)) as lead:
        lead.join_all("ttac")
        sent = updates(parameters=size)
        session = lead.begin(training(large))
        np.testing.assert_array_equal(lead.round(session, 1, sent), sent.sum(axis=0))
        request = guardian_pb2.SettleBatchRequest(session_id=session, batch_id=1)
        assert [len(chunk.data) for chunk in lead.query.ReleasedUpdate(request)] == [2**20, 24]


@pytest.mark.heavy
def test_any_sum_is_released_like_an_honest_one(lead: Lead) -> None:
    session = lead.begin(training())
    lead.ticket(session, 1, 1)
    total = lead.trained(session, 1, updates())
    lead.sum(session, 1, total + np.uint64(2**63 - 5))
    assert lead.spent() == cost_of(lead, DP, 1)


def test_only_a_party_of_the_training_leads_it(lead: Lead) -> None:
    def asked(site: str, role: Role, of: Any) -> str:
        stub, data = lead.stub(site, role), of.serialize()
        codes = {
            refusal(lambda: stub.OpenSession(guardian_pb2.OpenSessionRequest(plan=data))),
            refusal(lambda: stub.Plan(guardian_pb2.PlanRequest(plan=data))),
        }
        (code,) = codes
        return code

    assert asked("q", Role.QUERY, training()) == "identity.wrong_role"
    assert asked("a", Role.PARTY, plan()) == "identity.wrong_role"
    assert asked("a", Role.PARTY, training(parties=("b", "c"))) == "policy.refused"


@pytest.mark.heavy
def test_only_the_lead_goes_on_with_its_training(lead: Lead) -> None:
    session = lead.begin(training())
    lead.round(session, 1, updates())
    named = guardian_pb2.SettleBatchRequest(session_id=session, batch_id=1)
    other, query = lead.stub("b", Role.PARTY), lead.stub("q", Role.QUERY)
    assert refusal(lambda: list(other.ReleasedUpdate(named))) == "session.unknown"
    assert refusal(lambda: list(query.ReleasedUpdate(named))) == "session.unknown"
    for stub in (other, query):
        opened = guardian_pb2.OpenBatchRequest(session_id=session, batch_id=2, size=1)
        assert refusal(partial(stub.OpenBatch, opened)) == "session.unknown"
        assert refusal(partial(stub.SettleBatch, named)) == "session.unknown"


@pytest.mark.parametrize("mechanisms", ["", 'mechanisms = ["dp_ttac", "gnmax"]\n'])
def test_ttac_is_refused_unless_the_policy_names_it(tmp_path: Path, mechanisms: str) -> None:
    with leading(Federation(tmp_path, policy=f"min_sigma = 0.5\n{mechanisms}")) as lead:
        lead.join_all("ttac")
        assert refusal(lambda: lead.begin(training(TTAC))) == "policy.refused"
        lead.apply_policy(ALLOWING)
        session = lead.begin(training(TTAC))
        lead.apply_policy(f"min_sigma = 0.5\n{mechanisms}")
        assert refusal(lambda: lead.ticket(session, 1, 1)) == "policy.refused"


def test_a_round_that_is_forbidden_after_its_ticket_is_dead(open_lead: Lead) -> None:
    session = open_lead.begin(training(TTAC))
    first = open_lead.round(session, 1, updates())
    open_lead.ticket(session, 2, 1)
    total = open_lead.trained(session, 2, updates())
    open_lead.apply_policy("min_sigma = 0.5\n")
    assert refusal(lambda: open_lead.sum(session, 2, total)) == "policy.refused"
    np.testing.assert_array_equal(open_lead.released(session, 1), first)
    open_lead.apply_policy(ALLOWING)
    assert refusal(lambda: open_lead.sum(session, 2, total)) == "batch.dead"
    assert not open_lead.settle(session, 2).released


def test_teachers_of_ttac_label_only_where_the_policy_names_it(tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    with federation.guardian() as querier:
        querier.prepare_all()
        querier.register("b", together="ttac")
        assert refusal(querier.open) == "policy.refused"
        querier.apply_policy(ALLOWING)
        grant = querier.open()
        assert [participant.together for participant in grant.participants] == ["", "ttac", ""]
        request = admin_pb2.ShowSessionRequest(session_id=grant.session_id)
        assert querier.admin.ShowSession(request).unguaranteed
        querier.apply_policy(federation.policy)
        assert refusal(lambda: querier.ticket(grant.session_id, 1, 20)) == "policy.refused"


def test_teachers_of_dp_ttac_label_as_others_do(lead: Lead) -> None:
    request = guardian_pb2.OpenSessionRequest(plan=plan().serialize())
    reply = lead.stub("q", Role.QUERY).OpenSession(request)
    grant = grant_of(reply.grant)
    assert {participant.together for participant in grant.participants} == {"dp-ttac"}
    shown = lead.admin.ShowSession(admin_pb2.ShowSessionRequest(session_id=grant.session_id))
    assert not shown.unguaranteed


@pytest.mark.parametrize("together", ["", "ttac"])
def test_teachers_that_are_registered_as_learning_otherwise_do_not_train(lead: Lead, together: str) -> None:
    lead.register("b", together=together)
    assert refusal(lambda: lead.begin(training())) == "task.mismatch"


def test_a_grant_says_what_is_in_a_sum(lead: Lead) -> None:
    groups = [group("x", records=60, copies=2), group("y", records=40)]
    lead.register("b", together="dp-ttac", mixed=True, groups=groups)
    for name in "xy":
        lead.budget("b", 10.0, group=name)
    grant = lead.open(training())
    (cohort,) = grant.participants[1].cohorts
    assert (list(cohort.groups), list(cohort.copies), list(cohort.records)) == (["x", "y"], [2, 1], [60, 40])


def test_a_party_takes_part_with_all_its_records_or_not_at_all(lead: Lead) -> None:
    lead.register("b", together="dp-ttac", groups=[group("x"), group("y")])
    for name in "xy":
        lead.budget("b", 10.0, group=name)
    session = lead.begin(training())
    lead.withdraw("b", "x")
    ticket = lead.ticket(session, 1, 1)
    assert [schedule.participant.site for schedule in ticket.schedule] == ["a", "c"]


@pytest.mark.heavy
def test_what_a_restored_ledger_forgot_of_a_training_is_charged_from_receipts(tmp_path: Path) -> None:
    federation, backup = Federation(tmp_path), tmp_path / "backup.db"
    with leading(federation) as lead:
        lead.join_all("dp-ttac")
        session = lead.begin(training())
        back_up(federation.guardian_folder, backup)
        lead.round(session, 1, updates())
        spent = lead.spent()
    (federation.guardian_folder / "ledger.db").unlink()
    restore(federation.guardian_folder, backup)
    with leading(federation) as lead:
        assert lead.spent() == 0
        assert lead.reconcile("a", [receipt(DP, session_id=session)]).charged == 1
        assert lead.spent() == spent


@pytest.mark.heavy
def test_moved_records_take_over_what_a_training_cost(lead: Lead) -> None:
    """A record may move from one group of its party to another, which then owes what it spent."""
    lead.round(lead.begin(training()), 1, updates())
    lead.register("a", together="dp-ttac", groups=[group("moved")])
    lead.budget("a", 1000.0, group="moved", order=4.0)
    moved = lead.budgets("a")["moved"]
    cost = DP.worst_case(4.0, classes=4).reservation(1, 1)
    assert moved.epsilon_worst_case == epsilon(cost * AMOUNT_UNIT, 4.0, moved.delta)


@pytest.mark.heavy
def test_a_training_has_as_many_rounds_as_were_planned(open_lead: Lead) -> None:
    session = open_lead.begin(training(TTAC))
    for batch in range(ROUNDS):
        open_lead.round(session, batch, updates())
    assert refusal(lambda: open_lead.ticket(session, ROUNDS, 1)) == "batch.too_large"
    assert refusal(lambda: open_lead.ticket(session, ROUNDS + 1, 2)) == "batch.too_large"
