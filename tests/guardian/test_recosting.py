"""A party that learns that one person has more votes than it declared: what was spent is costed again."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from ostraka.common.mechanism import GnMax
from ostraka.common.privacy import epsilon
from ostraka.guardian.admin.exports import rows_of
from ostraka.guardian.admin.verification import verify_ledger
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.federation import PARTIES, Calls, Federation, plan, unanimous

QUERIES = 20
MECHANISM = GnMax(sigma=10.0)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        for site in PARTIES:
            calls.register(site)
        yield calls


def released(guardian: Calls, budget: float) -> admin_pb2.Budget:
    """Party a's budget after one batch of one vote a person."""
    for site in PARTIES:
        guardian.budget(site, budget)
    session = guardian.open(plan(mechanism=MECHANISM, queries=QUERIES, batch_size=QUERIES)).session_id
    guardian.ticket(session, 1, QUERIES)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(QUERIES)))
    return found(guardian)


def found(guardian: Calls) -> admin_pb2.Budget:
    (budget,) = guardian.budgets("a").values()
    return budget


def cost(order: float, votes: int, batches: int = 1) -> float:
    answered = np.ones((batches * QUERIES, 1), dtype=np.bool_)
    return epsilon(MECHANISM.worst_case(order, votes, classes=4).rdp(answered), order, 1e-5)


@pytest.mark.heavy
def test_what_was_spent_is_costed_for_the_votes_of_now(guardian: Calls, federation: Federation) -> None:
    before = released(guardian, 1000.0)
    guardian.register("a", max_votes_per_person=5)
    after = found(guardian)
    assert before.epsilon_worst_case == pytest.approx(cost(before.order, 1), rel=1e-6)
    assert after.epsilon_worst_case == pytest.approx(cost(before.order, 5), rel=1e-6)
    assert not after.broken_unix_s
    assert [guardian.spent(site) for site in ("b", "c")] == [before.epsilon_worst_case] * 2
    guardian.register("a", max_votes_per_person=3)
    guardian.register("a", max_votes_per_person=5)
    assert found(guardian).epsilon_worst_case == after.epsilon_worst_case
    folder = federation.guardian_folder
    assert verify_ledger(folder / "ledger.db", folder / "ca.crt", [])


def test_a_batch_under_way_counts_as_if_all_its_queries_were_answered(guardian: Calls) -> None:
    for site in PARTIES:
        guardian.budget(site, 1000.0)
    asked = plan(mechanism=MECHANISM, queries=2 * QUERIES, batch_size=QUERIES)
    session = guardian.open(asked).session_id
    for batch in (1, 2):
        guardian.ticket(session, batch, QUERIES)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(QUERIES)))
    guardian.register("a", max_votes_per_person=5)
    after = found(guardian)
    assert after.epsilon_worst_case == pytest.approx(cost(after.order, 5, batches=2), rel=1e-6)


def test_what_is_beyond_the_budget_then_breaks_its_guarantee(guardian: Calls) -> None:
    before = released(guardian, 10.0)
    guardian.register("a", max_votes_per_person=5)
    after = found(guardian)
    assert after.epsilon_worst_case > 10.0 > before.epsilon_worst_case
    assert after.broken_unix_s
    request = admin_pb2.BudgetHistoryRequest(party="a", group="all", adjacency="record")
    assert [event.kind for event in rows_of(guardian.admin.BudgetHistory(request))][-1] == "recosted"


def test_units_that_spent_nothing_stay_as_they_are(guardian: Calls) -> None:
    guardian.budget("a", 10.0)
    guardian.register("a", max_votes_per_person=5)
    assert (found(guardian).epsilon_worst_case, found(guardian).broken_unix_s) == (0.0, 0)


@pytest.mark.heavy
def test_data_dependent_costs_cannot_be_computed_again_and_break_the_guarantee(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nmin_sigma = 0.5\n'
    (tmp_path / "other").mkdir()
    with Federation(tmp_path / "other", policy=policy).guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
        before = released(guardian, 1000.0)
        guardian.register("a", max_votes_per_person=5)
        assert found(guardian).broken_unix_s
        assert found(guardian).epsilon_worst_case > before.epsilon_worst_case


def under_way(guardian: Calls) -> str:
    """Open a session with a batch under way, of one vote a person."""
    for site in PARTIES:
        guardian.budget(site, 1000.0)
    session = guardian.open(plan(mechanism=MECHANISM, queries=QUERIES, batch_size=QUERIES)).session_id
    guardian.ticket(session, 1, QUERIES)
    return str(session)


def test_a_batch_under_way_is_costed_again_also_where_nothing_was_spent_before(guardian: Calls) -> None:
    session = under_way(guardian)
    guardian.register("a", max_votes_per_person=5)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(QUERIES)))
    after = found(guardian)
    assert after.epsilon_worst_case >= cost(after.order, 5)


@pytest.mark.parametrize("raised", [5, 1])
def test_a_group_made_later_at_a_larger_order_is_charged_for_the_votes_of_now(
    guardian: Calls, raised: int
) -> None:
    order = released(guardian, 1000.0).order
    guardian.register("a", max_votes_per_person=5)
    guardian.register("a", max_votes_per_person=raised)
    made = guardian.budget("a", 2000.0, group="low", order=2 * order)
    assert made.epsilon_worst_case == pytest.approx(cost(2 * order, 5), rel=1e-6)


def test_a_budget_made_while_a_batch_is_under_way_takes_over_what_is_not_reserved(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nmin_sigma = 0.5\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
        session = under_way(guardian)
        made = guardian.budget("a", 1000.0, group="low")
        assert made.epsilon_worst_case == pytest.approx(cost(made.order, 1), rel=1e-6)
        guardian.release(session, 1, guardian.vote(session, 1, unanimous(QUERIES)))
        spent = guardian.budgets("a")
        assert spent["all"].epsilon_worst_case == pytest.approx(spent["low"].epsilon_worst_case)
