"""What the Plan RPC says, what it refuses, and that it changes nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.identity import Role
from ostraka.common.mechanism import Binary, Confident, GnMax, NoiseCluster
from ostraka.common.plan.plan import Plan
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.guardian.federation import (
    PARTIES,
    TASK,
    TEACHERS,
    Calls,
    Federation,
    group,
    plan,
    refusal,
    unanimous,
)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=50.0)
        yield calls


def ask(calls: Calls, asked: Plan | None = None) -> guardian_pb2.PlanReply:
    return calls.query.Plan(guardian_pb2.PlanRequest(plan=(asked or plan()).serialize()))


def state(federation: Federation, calls: Calls) -> Any:
    """Everything durable, as the ledger's file holds it."""
    listed = list(calls.admin.ListBudgets(admin_pb2.ListBudgetsRequest()))
    files = sorted(federation.guardian_folder.glob("ledger.db*"))
    dump = {file.name: file.read_bytes() for file in files if not file.name.endswith("-shm")}
    return listed, dump


def test_every_partys_cost_at_its_own_order(guardian: Calls) -> None:
    reply = ask(guardian)
    assert (reply.enforce, reply.bound, list(reply.encodings)) == ("worst_case", "worst_case", ["plain"])
    assert [party.site for party in reply.parties] == list(PARTIES)
    for party in reply.parties:
        cost = plan().mechanism.worst_case(party.order, classes=4)
        rdp = cost.reservation(40, 1) * AMOUNT_UNIT
        assert party.epsilon == epsilon(rdp, party.order, 1e-5)
        assert (party.teachers, party.delta, party.budget_epsilon) == (TEACHERS, 1e-5, 50.0)


def test_as_many_queries_are_granted_as_are_said_to_fit(guardian: Calls) -> None:
    mechanism = GnMax(sigma=2.0)
    fits = ask(guardian, plan(mechanism=mechanism)).parties[0].fits
    asked = plan(mechanism=mechanism, queries=fits + 1, batch_size=fits + 1)
    session = guardian.open(asked).session_id
    assert refusal(lambda: guardian.ticket(session, 1, fits + 1)) == "budget.too_small"
    assert guardian.ticket(session, 2, fits).size == fits
    assert [party.fits for party in ask(guardian, asked).parties] == [0, 0, 0]


def test_nothing_is_opened_reserved_or_written(guardian: Calls, federation: Federation) -> None:
    before = state(federation, guardian)
    for mechanism in (GnMax(sigma=2.0), Confident(sigma1=2.0, sigma2=1.0, threshold=15.0)):
        ask(guardian, plan(mechanism=mechanism))
    refusal(lambda: ask(guardian, plan(quorum=1)))
    assert state(federation, guardian) == before
    assert not list(guardian.admin.ListSessions(admin_pb2.ListSessionsRequest()))


def test_a_persons_votes_and_lowered_budgets_show_in_their_party_alone(guardian: Calls) -> None:
    fits = [party.fits for party in ask(guardian).parties]
    assert len(set(fits)) == 1
    guardian.register("b", max_votes_per_person=2)
    guardian.budget("c", 25.0)
    a, b, c = ask(guardian).parties
    assert a.fits == fits[0]
    assert b.fits < fits[0] / 3
    assert b.epsilon > a.epsilon
    assert c.fits < fits[0]
    assert c.budget_epsilon == 25.0


def test_the_unit_with_room_for_the_fewest_speaks_for_its_party(guardian: Calls) -> None:
    guardian.register("a", groups=[group(name, records=50, teachers=5) for name in ("all", "old")])
    assert refusal(lambda: ask(guardian)) == "budget.missing"
    guardian.budget("a", 20.0, group="old")
    tightest = ask(guardian).parties[0]
    assert (tightest.budget_epsilon, tightest.group) == (20.0, "old")
    guardian.budget("a", 10.0, adjacency="label")
    assert ask(guardian).parties[0].budget_epsilon == 10.0


def test_multi_label_plans_and_clusters(guardian: Calls) -> None:
    labels = ask(guardian, plan(mechanism=Binary(sigma=2.0), multi_label=True)).parties[0]
    cost = Binary(sigma=2.0).worst_case(labels.order, classes=4)
    assert labels.epsilon == epsilon(cost.reservation(40, 4) * AMOUNT_UNIT, labels.order, 1e-5)
    assert labels.epsilon > ask(guardian, plan(mechanism=GnMax(sigma=2.0))).parties[0].epsilon
    clusters = plan(mechanism=NoiseCluster(sigma=2.0), queries=20, batch_size=20)
    assert ask(guardian, clusters).parties[0].fits == 20
    guardian.budget("a", 1.0)
    assert ask(guardian, clusters).parties[0].fits == 0


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"quorum": 1}, "policy.refused"),
        ({"mechanism": GnMax(sigma=0.1)}, "policy.refused"),
        ({"parties": ("a", "b", "c", "d")}, "party.unknown"),
        ({"task_digest": b"t" * 32}, "task.mismatch"),
        ({"ring_bits": 32, "mechanism": GnMax(sigma=1e4)}, "plan.ring_too_small"),
    ],
)
def test_a_plan_is_refused_as_a_session_would_be(guardian: Calls, changes: dict[str, Any], code: str) -> None:
    asked = plan(**changes)
    assert refusal(lambda: ask(guardian, asked)) == code
    assert refusal(lambda: guardian.open(asked)) == code


def test_other_refusals(federation: Federation) -> None:
    with federation.guardian() as calls:
        for site in PARTIES:
            calls.register(site, task_digest=TASK)
        assert refusal(lambda: ask(calls)) == "budget.missing"
        request = guardian_pb2.PlanRequest(plan=b"no plan")
        assert refusal(lambda: calls.query.Plan(request), "its bytes are") == "plan.invalid"
        labels = guardian_pb2.PlanRequest(plan=plan().serialize())
        assert refusal(lambda: calls.stub("a", Role.PARTY).Plan(labels)) == "identity.wrong_role"


def test_a_data_dependent_remainder_is_not_told(tmp_path: Path) -> None:
    federation = Federation(tmp_path, policy='enforce = "data_dependent"\nmin_sigma = 0.5\n')
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=50.0)
        before = ask(calls)
        assert before.enforce == "data_dependent"
        assert not any(party.HasField("fits") for party in before.parties)
        session = calls.open().session_id
        calls.ticket(session, 1, 20)
        calls.release(session, 1, calls.vote(session, 1, unanimous(20)))
        assert ask(calls) == before


@pytest.fixture
def levels(federation: Federation) -> Iterator[Calls]:
    """Parties whose 8 low teachers have a budget for 10 queries and whose 2 high ones one for 40."""
    with federation.guardian() as calls:
        for site in PARTIES:
            calls.register(site, groups=[group("low", teachers=8), group("high", teachers=2)])
            for name, queries in (("low", 10), ("high", 40)):
                calls.budget(site, 1.001 * cost_of(queries), group=name, order=8.0)
        yield calls


NOISY = GnMax(sigma=2.0)


def cost_of(queries: int, sensitivity: float = 1.0) -> float:
    cost = NOISY.worst_case(8.0, sensitivity, classes=4).reservation(queries, 1)
    return epsilon(cost * AMOUNT_UNIT, 8.0, 1e-5)


def test_who_votes_on_average_and_what_fits_with_vanishing_votes(levels: Calls) -> None:
    plain = ask(levels, plan(mechanism=NOISY))
    assert (plain.teachers, plain.voters, plain.scale) == (30, 30, 1)
    assert [(p.fits, p.group, p.teachers) for p in plain.parties] == [(10, "low", 10)] * 3
    reply = ask(levels, plan(mechanism=NOISY, variant="vanishing"))
    assert (reply.teachers, reply.voters, reply.scale) == (30, 12, 0.4)
    assert [party.fits for party in reply.parties] == [40] * 3
    assert reply.parties[0].epsilon == cost_of(10)


def test_weighted_votes_use_up_all_budgets_together(levels: Calls) -> None:
    """Weights of 5/6 and 5/3: 10 queries over 25/36, and 40 over 25/9."""
    reply = ask(levels, plan(mechanism=NOISY, variant="weighting"))
    assert (reply.voters, reply.scale) == (30, 1)
    assert [party.fits for party in reply.parties] == [14] * 3


def test_noise_that_suits_fewer_teachers_is_scaled_for_copies(levels: Calls) -> None:
    """Two parties of 200 records with one copy each, one of 150 records of which 50 have four."""
    groups = [group("low", teachers=16), group("high", records=50, teachers=16, copies=4)]
    levels.register("a", groups=groups, mixed=True)
    reply = ask(levels, plan(mechanism=NOISY))
    assert reply.scale == pytest.approx(700 / 550)
    assert (reply.parties[0].fits, reply.parties[0].group) == (2, "high")
