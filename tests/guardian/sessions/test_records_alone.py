"""Parties with records and no teachers, at a guardian."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ostraka.common.mechanism import GnMax, Moments, NoiseCluster
from ostraka.protos.ostraka.v1 import guardian_pb2
from tests.guardian.federation import TEACHERS, Calls, Federation, group, plan, refusal

RECORDS = 100
ALONE: dict[str, Any] = {"groups": [group("all", teachers=0)], "mixed": True}
MOMENTS = Moments(columns=3, codes=4, sigma=20.0)


@pytest.fixture
def guardian(federation: Federation) -> Iterator[Calls]:
    with (federation.guardian_folder / "site.toml").open("a") as file:
        file.write('mechanisms = ["votes", "sums"]\n')
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=50.0)
        calls.register("c", **ALONE)
        yield calls


def planned(calls: Calls, **changes: Any) -> guardian_pb2.PlanReply:
    return calls.query.Plan(guardian_pb2.PlanRequest(plan=plan(**changes).serialize()))


def test_votes_go_on_without_them_and_a_plan_says_so(guardian: Calls) -> None:
    reply = planned(guardian, mechanism=GnMax(sigma=20.0))
    assert [party.teachers for party in reply.parties] == [TEACHERS, TEACHERS, 0]
    assert [party.epsilon > 0 for party in reply.parties] == [True, True, False]
    assert reply.voters == 2 * TEACHERS
    session = guardian.open(plan(mechanism=GnMax(sigma=20.0)))
    ticket = guardian.ticket(session.session_id, 1, 5)
    assert [one.participant.site for one in ticket.schedule] == ["a", "b"]


def test_a_quorum_is_of_those_that_vote(guardian: Calls) -> None:
    assert refusal(lambda: guardian.open(plan(quorum=3))) == "quorum.lost"


def test_sums_and_counts_ask_them(guardian: Calls) -> None:
    counts = {"mechanism": NoiseCluster(sigma=20.0), "batch_size": 40, "quorum": 3}
    for asked in (counts, {"mechanism": MOMENTS, "batch_size": 1, "queries": 3, "quorum": 3}):
        reply = planned(guardian, **asked)
        assert all(party.epsilon > 0 for party in reply.parties)
        session = guardian.open(plan(**asked)).session_id
        ticket = guardian.ticket(session, 1, plan(**asked).batch_size)
        assert [one.participant.site for one in ticket.schedule] == ["a", "b", "c"]


def test_each_group_of_mixed_teachers_is_a_cohort_of_a_sum(guardian: Calls) -> None:
    groups = [group("low", teachers=TEACHERS), group("high", teachers=TEACHERS, copies=2)]
    guardian.register("a", groups=groups, mixed=True)
    for name in ("low", "high"):
        guardian.budget("a", 50.0, group=name)
    asked = plan(mechanism=MOMENTS, batch_size=1, queries=3)
    ticket = guardian.ticket(guardian.open(asked).session_id, 1, 1)
    cohorts = ticket.schedule[0].participant.cohorts
    assert [(list(one.groups), one.teachers, list(one.records)) for one in cohorts] == [
        (["low"], 0, [RECORDS]),
        (["high"], 0, [RECORDS]),
    ]


@pytest.mark.parametrize(
    "changes",
    [
        {"groups": [group("low", teachers=0), group("high")]},
        {"groups": [group("all", teachers=0, copies=2)]},
        {"groups": [group("all", teachers=0)], "head": "linear"},
        {"groups": [group("all", teachers=0)], "together": "dp_ttac"},
        {"groups": [group("all", teachers=0, records=0)]},
    ],
)
def test_manifests_that_contradict_themselves_are_refused(guardian: Calls, changes: dict[str, Any]) -> None:
    assert refusal(lambda: guardian.register("b", **changes)) == "manifest.invalid"


def test_what_fits_is_what_the_parties_that_vote_pay_for(tmp_path: Path) -> None:
    policy = 'enforce = "worst_case"\non_exhaustion = "vanish"\nmin_sigma = 0.5\nmin_quorum = 2\n'
    with Federation(tmp_path, policy=policy).guardian() as calls:
        for site, epsilon in (("a", 50.0), ("b", 5.0), ("c", 50.0)):
            calls.register(site, **(ALONE if site == "c" else {}))
            calls.budget(site, epsilon)
        reply = planned(calls, mechanism=GnMax(sigma=2.0))
    a, b, _ = (party.fits for party in reply.parties)
    assert b < a
    assert reply.fits == b
