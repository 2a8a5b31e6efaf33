"""What members are told of their own standing, and of nobody else's."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ostraka.common.identity import Role
from ostraka.guardian.admin.texts import unit_text
from ostraka.guardian.members.member_standing import STEPS
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.admin.support import budget, label
from tests.guardian.federation import Calls, Federation, plan, refusal

POLICY = 'min_quorum = 2\nmin_sigma = 0.5\nenforce = "{enforce}"\n'


@pytest.fixture(params=["worst_case", "data_dependent"])
def guardian(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Calls]:
    """Run a guardian, under either enforcement, with which every party has a budget of epsilon 1000."""
    federation = Federation(tmp_path, policy=POLICY.format(enforce=request.param))
    with federation.guardian() as calls:
        calls.prepare_all()
        yield calls


def standing(guardian: Calls, site: str, role: Role) -> guardian_pb2.StandingReply:
    return guardian.stub(site, role).Standing(guardian_pb2.StandingRequest())


def test_budgets_promise_persons_what_was_always_kept_for_persons(tmp_path: Path) -> None:
    federation = Federation(tmp_path, policy=POLICY.format(enforce="worst_case"))
    with federation.guardian() as guardian:
        for site, registered in {"a": (True, True), "b": (True, False), "c": (False, True)}.items():
            for number, whole in enumerate(registered):
                guardian.register(site, whole_persons=whole, training=str(number))
            guardian.budget(site, 7)
        kept = {site: guardian.budgets(site)["all"] for site in "abc"}
        told = {site: standing(guardian, site, Role.PARTY).units[0].whole_persons for site in "abc"}
    assert {site: found.whole_persons for site, found in kept.items()} == told
    assert told == {"a": True, "b": False, "c": False}
    assert [unit_text(kept[site]) for site in "ab"] == ["a/all (DP for persons)", "b/all (DP for records)"]


@pytest.mark.heavy
def test_a_querying_party_sees_its_own_sessions_the_newest_first(guardian: Calls) -> None:
    first = label(guardian)
    second = guardian.open(plan(nonce=b"m" * 16)).session_id
    told = standing(guardian, "q", Role.QUERY)
    assert [session.session_id for session in told.sessions] == [second, first]
    assert (told.sessions[1].state, told.sessions[1].queries) == ("open", 40)
    assert (told.sessions[1].asked, told.sessions[1].answered) == (20, 20)
    assert not told.units
    assert not told.state
    assert not standing(guardian, "other", Role.QUERY).sessions


@pytest.mark.heavy
def test_the_daily_limit_is_told_where_there_is_one(guardian: Calls) -> None:
    assert not standing(guardian, "q", Role.QUERY).HasField("queries_left")
    enforce = budget(guardian).enforce
    guardian.apply_policy(POLICY.format(enforce=enforce) + "max_queries_per_day = 45\n")
    label(guardian)
    assert standing(guardian, "q", Role.QUERY).queries_left == 25
    assert standing(guardian, "other", Role.QUERY).queries_left == 45
    assert not standing(guardian, "a", Role.PARTY).HasField("queries_left")


@pytest.mark.heavy
def test_a_party_sees_its_own_units_in_whole_steps_of_its_budget(guardian: Calls) -> None:
    label(guardian)
    told, kept = standing(guardian, "a", Role.PARTY), budget(guardian, "a")
    (unit,) = told.units
    assert (told.state, unit.state, unit.group, unit.adjacency) == ("active", "active", "all", "record")
    assert (unit.epsilon, unit.delta, unit.order) == (kept.epsilon, kept.delta, kept.order)
    assert kept.epsilon_worst_case <= unit.epsilon_worst_case
    assert unit.epsilon_worst_case - kept.epsilon_worst_case < unit.epsilon / STEPS
    assert unit.epsilon_worst_case == pytest.approx(round(unit.epsilon_worst_case / 10) * 10)
    assert not told.sessions


def test_a_suspended_party_reads_that_it_is(guardian: Calls) -> None:
    guardian.set_party("b", "suspended")
    assert standing(guardian, "b", Role.PARTY).state == "suspended"
    assert standing(guardian, "a", Role.PARTY).state == "active"


def test_administrators_have_no_standing(guardian: Calls) -> None:
    assert refusal(lambda: standing(guardian, "ops", Role.ADMIN)) == "identity.wrong_role"
