"""Personalised sessions over real sockets: weights, vanishing votes, withdrawal, exhaustion, policies."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Binary, GnMax, Interactive, Mechanism, NoiseCluster, RandRes
from ostraka.common.plan.plan import Plan
from ostraka.common.plan.schedules import read_schedule
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.rpc import call_error
from ostraka.common.sharing.fixed_point import encode
from ostraka.common.sharing.ring import RingArray
from ostraka.common.sharing.shares import split
from ostraka.guardian.ledger.sessions import batches
from ostraka.guardian.sessions import Coordinator
from ostraka.protos.ostraka.v1 import common_pb2
from tests.guardian.federation import PARTIES, RING, Calls, Federation, group, plan, refusal
from tests.guardian.noise.silent import Silent

POLICY = "min_sigma = 0.5\nmin_quorum = 1\n"
VANISH = 'on_exhaustion = "vanish"\n'
SEALED = 'enforce = "data_dependent"\nbound = "theorem6"\n'
LOW, HIGH = 8, 2
"""Teachers of every party, by group."""
GROUPS = [group("low", teachers=LOW), group("high", teachers=HIGH)]
WORST, QUIET = GnMax(sigma=2.0), GnMax(sigma=10.0)


@contextmanager
def served(folder: Path, policy: str = POLICY, clock: Any = None, **epsilons: float) -> Iterator[Calls]:
    """Run a guardian whose parties have groups of these epsilons, all at one order; it serves any policy."""
    federation = Federation(folder, clock or SystemClock(), policy=policy, votes_may_tell=True)
    with federation.guardian(Silent()) as calls:
        for site in PARTIES:
            calls.register(site, groups=[each for each in GROUPS if each.name in epsilons])
            for name, value in epsilons.items():
                calls.budget(site, value, group=name, order=8.0)
        yield calls


def asked(mechanism: Mechanism = WORST, **changes: Any) -> Plan:
    return plan(mechanism=mechanism, multi_label=mechanism.multi_label, **{"quorum": 1} | changes)


def votes_of(
    ticket: common_pb2.Ticket, ballot: Callable[[common_pb2.Cohort], ArrayLike], width: int = 4
) -> dict[str, NDArray[np.float64]]:
    """Return what a ticket's parties send if all teachers of a cohort vote as `ballot` says, in votes."""
    sent = {}
    for schedule in ticket.schedule:
        total = np.zeros((ticket.size, width))
        present = read_schedule(schedule, ticket.size)
        for cohort, queries in zip(schedule.participant.cohorts, present, strict=True):
            each = cohort.teachers * cohort.weight / 2**16 * np.asarray(ballot(cohort), dtype=np.float64)
            total += queries[:, None] * each
        sent[schedule.participant.site] = total
    return sent


def voted(calls: Calls, ticket: common_pb2.Ticket, sent: dict[str, NDArray[np.float64]]) -> RingArray:
    """Submit and freeze what parties vote; the sum that is left to send."""
    halves = []
    for site, ballots in sent.items():
        share = split(ballots, bytes(32), RING)
        calls.submit(site, ticket.session_id, ticket.batch_id, share)
        halves.append(encode(ballots, RING) - share)
    frozen = calls.prepare(ticket.session_id, ticket.batch_id, sorted(sent)).frozen
    assert list(frozen) == sorted(sent)
    return RING.sum(halves)


def labelled(calls: Calls, ticket: common_pb2.Ticket, label: int = 1) -> list[int]:
    """Release a batch in which everybody votes for `label`."""
    total = voted(calls, ticket, votes_of(ticket, lambda _: np.eye(4)[label]))
    return [found for _, found in calls.release(ticket.session_id, ticket.batch_id, total)]


def bits(ticket: common_pb2.Ticket, name: str) -> dict[str, int]:
    """On how many queries the cohort of a group votes, by site."""
    return {
        schedule.participant.site: int(queries.sum())
        for schedule in ticket.schedule
        for cohort, queries in zip(
            schedule.participant.cohorts, read_schedule(schedule, ticket.size), strict=True
        )
        if name in cohort.groups
    }


def cost_of(queries: int, sensitivity: float = 1.0, mechanism: Mechanism = WORST, answers: int = 1) -> float:
    """Epsilon of so many answered queries at order 8."""
    cost = mechanism.worst_case(8.0, sensitivity, classes=4)
    return epsilon(cost.reservation(queries, answers) * AMOUNT_UNIT, 8.0, 1e-5)


def paying(queries: int, **changes: Any) -> float:
    """Epsilon of a budget that is just enough for so many."""
    return 1.001 * cost_of(queries, **changes)


def details(call: Callable[[], Any]) -> dict[str, str]:
    with pytest.raises(grpc.RpcError) as refused:
        call()
    return call_error(refused.value).details


def steps_of(grant: common_pb2.Grant, site: str = "a") -> tuple[float, float]:
    """Return what votes of a party's low and high teachers weigh."""
    (found,) = (each for each in grant.participants if each.site == site)
    low, high = (cohort.weight / 2**16 for cohort in found.cohorts)
    return low, high


@pytest.mark.heavy
def test_weighted_votes_count_and_cost_what_they_weigh(tmp_path: Path) -> None:
    """Budgets for 10 and 360 queries of 8 and 2 teachers: weights of about one half and three."""
    low_budget, high_budget = (paying(queries, mechanism=QUIET) for queries in (10, 360))
    with served(tmp_path, low=low_budget, high=high_budget) as calls:
        grant = calls.open(asked(QUIET, variant="weighting"))
        low, high = steps_of(grant)
        assert (low, high) == pytest.approx((0.5, 3), rel=0.06)
        assert {steps_of(grant, site) for site in PARTIES} == {(low, high)}
        ticket = calls.ticket(grant.session_id, 1, 20)
        assert [s.participant for s in ticket.schedule] == list(grant.participants)
        ballot = {"low": np.eye(4)[1], "high": np.eye(4)[2]}
        sent = votes_of(ticket, lambda cohort: ballot[cohort.groups[0]])
        np.testing.assert_array_equal(sent["a"][0], [0, 8 * low, 2 * high, 0])
        answers = calls.release(grant.session_id, 1, voted(calls, ticket, sent))
        assert answers == [(True, 2)] * 20
        spent = calls.budgets("a")
        for name, weight in (("low", low), ("high", high)):
            assert spent[name].epsilon_worst_case == pytest.approx(cost_of(20, weight, QUIET), rel=1e-6)


def test_a_later_session_weighs_votes_by_what_is_left(tmp_path: Path) -> None:
    with served(tmp_path, low=paying(40), high=paying(40)) as calls:
        assert steps_of(calls.open(asked(variant="weighting"))) == (1, 1)
        session = calls.open(asked(nonce=b"m" * 16)).session_id
        for site in PARTIES:
            calls.freeze(site, "high")
        assert labelled(calls, calls.ticket(session, 1, 10)) == [1] * 10
        for site in PARTIES:
            calls.freeze(site, "high", frozen=False)
        low, high = steps_of(calls.open(asked(nonce=b"w" * 16, variant="weighting")))
        assert low / high == pytest.approx((30 / 40) ** 0.5, rel=0.02)
        assert 8 * low + 2 * high == pytest.approx(10, rel=1e-3)
        ticket = calls.ticket(calls.open(asked(nonce=b"o" * 16, variant="vanishing")).session_id, 1, 20)
        assert sum(bits(ticket, "low").values()) == pytest.approx(3 * 20 * 30 / 40, abs=2)
        assert set(bits(ticket, "high").values()) == {20}


def test_public_records_take_part_without_taking_all_weight_or_all_turns(tmp_path: Path) -> None:
    with served(tmp_path, low=paying(40), high=1e6) as calls:
        assert steps_of(calls.open(asked(variant="weighting"))) == (1, 1)
        session = calls.open(asked(nonce=b"m" * 16, variant="vanishing")).session_id
        ticket = calls.ticket(session, 1, 20)
        assert set(bits(ticket, "low").values()) == set(bits(ticket, "high").values()) == {20}
        assert labelled(calls, ticket) == [1] * 20


def test_copies_of_a_record_cost_their_square(tmp_path: Path) -> None:
    with served(tmp_path, high=100.0) as calls:
        mixed = [group("low"), group("high", copies=3)]
        calls.register("a", groups=mixed, mixed=True, max_votes_per_person=2)
        calls.budget("a", 100.0, group="low", order=8.0)
        ticket = calls.ticket(calls.open(asked(QUIET)).session_id, 1, 4)
        assert [list(c.groups) for c in ticket.schedule[0].participant.cohorts] == [["low", "high"]]
        assert labelled(calls, ticket) == [1] * 4
        spent = calls.budgets("a")
        assert spent["low"].epsilon_worst_case == pytest.approx(cost_of(4, 2.0, QUIET), rel=1e-6)
        assert spent["high"].epsilon_worst_case == pytest.approx(cost_of(4, 6.0, QUIET), rel=1e-6)


@pytest.mark.heavy
def test_vanishing_cohorts_pay_for_the_queries_they_vote_on(tmp_path: Path) -> None:
    """Labels are positive where all that vote say so, although they are a minority of all teachers."""
    mechanism = Binary(sigma=2.0)
    whole: dict[str, Any] = {"mechanism": mechanism, "answers": 4}
    with served(tmp_path, low=paying(8, **whole), high=paying(24, **whole)) as calls:
        session = calls.open(asked(mechanism, variant="vanishing")).session_id
        ticket = calls.ticket(session, 1, 20)
        low, high = bits(ticket, "low"), bits(ticket, "high")
        assert set(high.values()) == {20}
        assert sum(low.values()) == 20
        total = voted(calls, ticket, votes_of(ticket, lambda _: np.ones(4)))
        answers = calls.answers(session, 1, total)
        assert {answer.positive_labels for answer in answers} == {b"\xf0"}
        for site in PARTIES:
            for name, queries in (("low", low[site]), ("high", 20)):
                spent = calls.budgets(site)[name].epsilon_worst_case
                cost = cost_of(queries, **whole) if queries else 0
                assert spent == pytest.approx(cost, rel=1e-6)


@pytest.mark.heavy
def test_a_student_is_held_against_those_who_vote_on_the_query(tmp_path: Path) -> None:
    """max(n_j - n p_j) is zero for a student that knows the votes, whoever is absent."""
    mechanism = Interactive(sigma1=1.0, sigma2=1.0, threshold=1.0, confidence=0.9)
    with served(tmp_path, low=100.0, high=400.0) as calls:
        session = calls.open(asked(mechanism, variant="vanishing")).session_id
        ticket = calls.ticket(session, 1, 20)
        assert 0 < sum(bits(ticket, "low").values()) < 60
        total = voted(calls, ticket, votes_of(ticket, lambda _: np.eye(4)[1]))
        halves = np.full((20, 4), 0)
        halves[:, [1, 2]] = 2**15
        surprised = calls.answers(session, 1, total, halves)
        assert all(answer.answered for answer in surprised)


def test_a_timetable_stays_for_a_batch_and_changes_with_the_next(tmp_path: Path) -> None:
    with served(tmp_path, low=paying(20), high=paying(50)) as calls:
        session = calls.open(asked(variant="vanishing")).session_id
        first = calls.ticket(session, 1, 20)
        assert calls.ticket(session, 1, 20) == first
        second = calls.ticket(session, 2, 20)
        assert [s.queries for s in first.schedule] != [s.queries for s in second.schedule]


@pytest.mark.heavy
def test_every_query_needs_its_quorum_of_parties(tmp_path: Path) -> None:
    """Two parties have cohorts that vote on every query; the third's vanish from some."""
    with served(tmp_path, low=20.0, high=50.0) as calls:
        calls.register("c", groups=GROUPS[:1])
        assert refusal(lambda: calls.open(asked(variant="vanishing", quorum=3))) == "quorum.lost"
        session = calls.open(asked(variant="vanishing", quorum=2)).session_id
        assert refusal(lambda: calls.ticket(session, 1, 20, unavailable=["a"])) == "quorum.lost"
        assert calls.ticket(session, 1, 20).size == 20


def test_a_freeze_keeps_the_quorum_of_every_query(tmp_path: Path) -> None:
    """Two shares are in, but one of their parties is absent from some queries."""
    clock = ManualClock(SystemClock().now())
    with served(tmp_path, clock=clock, low=20.0, high=50.0) as calls:
        calls.register("c", groups=GROUPS[:1])
        session = calls.open(asked(variant="vanishing", quorum=2)).session_id
        ticket = calls.ticket(session, 1, 20)
        for site in ("a", "c"):
            calls.submit(site, session, 1, encode(np.zeros((20, 4)), RING))
        clock.advance(31)
        assert refusal(lambda: calls.prepare(session, 1)) == "quorum.lost"
        assert not calls.settle(session, ticket.batch_id).released


def test_withdrawal_and_freezing_act_from_the_next_batch_on(tmp_path: Path) -> None:
    with served(tmp_path, low=100.0, high=100.0) as calls:
        session = calls.open(asked()).session_id
        first = calls.ticket(session, 1, 10)
        calls.withdraw("a", "low")
        calls.freeze("b", "high")
        second = calls.ticket(session, 2, 10)
        assert bits(second, "low") == {"a": 0, "b": 10, "c": 10}
        assert bits(second, "high") == {"a": 10, "b": 0, "c": 10}
        assert labelled(calls, second) == labelled(calls, first) == [1] * 10
        assert calls.budgets("a")["low"].epsilon_worst_case == pytest.approx(cost_of(10), rel=1e-6)
        assert calls.budgets("a")["high"].epsilon_worst_case == pytest.approx(cost_of(20), rel=1e-6)
        calls.freeze("b", "high", frozen=False)
        assert bits(calls.ticket(session, 3, 10), "high")["b"] == 10


def test_mixed_teachers_stay_away_with_any_of_their_groups(tmp_path: Path) -> None:
    with served(tmp_path, low=100.0, high=100.0) as calls:
        calls.register("a", groups=[group("low"), group("high")], mixed=True)
        session = calls.open(asked()).session_id
        calls.withdraw("a", "low")
        assert set(bits(calls.ticket(session, 1, 10), "high")) == {"b", "c"}


def test_consent_that_is_withdrawn_ends_the_use_of_records_under_either_adjacency(tmp_path: Path) -> None:
    with served(tmp_path, high=100.0) as calls:
        for site in PARTIES:
            calls.budget(site, 100.0, group="high", order=8.0, adjacency="label")
        clusters = asked(NoiseCluster(sigma=2.0), queries=4, batch_size=4, adjacency="label")
        session = calls.open(clusters).session_id
        calls.withdraw("a", "high")
        assert set(bits(calls.ticket(session, 1, 4), "high")) == {"b", "c"}


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [NoiseCluster(sigma=2.0), RandRes(epsilon=2.0)], ids=lambda m: m.kind)
def test_records_vote_with_all_groups_of_their_party_or_not_at_all(
    tmp_path: Path, mechanism: Mechanism
) -> None:
    with served(tmp_path, low=100.0, high=100.0) as calls:
        for site in PARTIES:
            for name in ("low", "high"):
                calls.budget(site, 100.0, group=name, order=8.0, adjacency="label")
        session = calls.open(asked(mechanism, queries=4, batch_size=4, adjacency="label")).session_id
        calls.withdraw("a", "low")
        ticket = calls.ticket(session, 1, 4)
        assert set(bits(ticket, "high")) == {"b", "c"}


@pytest.mark.heavy
@pytest.mark.parametrize("enforce", ["", SEALED])
def test_a_session_stops_where_a_budget_runs_out(tmp_path: Path, enforce: str) -> None:
    with served(tmp_path, POLICY + enforce, low=paying(1), high=500.0) as calls:
        session = calls.open(asked()).session_id
        if enforce:
            ticket = calls.ticket(session, 1, 20)
            total = voted(calls, ticket, votes_of(ticket, lambda _: np.full(4, 0.25)))
            assert refusal(lambda: calls.release(session, 1, total)) == "session.ended"
        else:
            assert details(lambda: calls.ticket(session, 1, 20)) == {"fits": "1"}
            assert labelled(calls, calls.ticket(session, 2, 1)) == [1]
            assert details(lambda: calls.ticket(session, 3, 1)) == {"fits": "0"}


def test_a_session_goes_on_without_units_that_cannot_pay(tmp_path: Path) -> None:
    with served(tmp_path, POLICY + VANISH, low=paying(1), high=paying(15)) as calls:
        session = calls.open(asked()).session_id
        assert details(lambda: calls.ticket(session, 1, 10)) == {"fits": "1"}
        assert labelled(calls, calls.ticket(session, 2, 1)) == [1]
        ticket = calls.ticket(session, 3, 10)
        assert set(bits(ticket, "low").values()) == {0}
        assert labelled(calls, ticket) == [1] * 10
        assert calls.budgets("a")["low"].epsilon_worst_case == pytest.approx(cost_of(1), rel=1e-6)
        assert calls.budgets("a")["high"].epsilon_worst_case == pytest.approx(cost_of(11), rel=1e-6)
        calls.budget("a", 1.0, group="high", order=8.0)
        calls.budget("b", 1.0, group="high", order=8.0)
        assert set(bits(calls.ticket(session, 4, 1), "high")) == {"c"}
        calls.budget("c", 1.0, group="high", order=8.0)
        assert details(lambda: calls.ticket(session, 5, 1)) == {"fits": "0"}


@pytest.mark.parametrize(("races", "code"), [(2, None), (3, "budget.too_small")])
def test_budgets_that_other_sessions_take_meanwhile_are_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, races: int, code: str | None
) -> None:
    stored, lost = batches.open_batch, [*range(races)]

    def raced(*words: Any, **named: Any) -> bytes:
        if lost:
            lost.pop()
            raise OstrakaError(ErrorCode.BUDGET_TOO_SMALL, "Taken for this test.", fits="0")
        return stored(*words, **named)

    monkeypatch.setattr(batches, "open_batch", raced)
    with served(tmp_path, POLICY + VANISH, high=100.0) as calls:
        session = calls.open(asked()).session_id
        if code is None:
            assert calls.ticket(session, 1, 5).size == 5
        else:
            assert refusal(lambda: calls.ticket(session, 1, 5)) == code


@pytest.mark.heavy
@pytest.mark.parametrize("enforce", ["", SEALED])
def test_whoever_votes_by_a_ticket_pays_whatever_a_later_request_for_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enforce: str
) -> None:
    """Of two requests at a time the first stores its ticket and the second keeps the batch."""
    kept = Coordinator._keep
    monkeypatch.setattr(Coordinator, "_keep", lambda *_: monkeypatch.setattr(Coordinator, "_keep", kept))
    with served(tmp_path, POLICY + enforce, high=500.0) as calls:
        session = calls.open(asked()).session_id
        ticket = calls.ticket(session, 1, 5)
        assert calls.ticket(session, 1, 5, unavailable=["a"]) == ticket
        assert labelled(calls, ticket) == [1] * 5
        spent = {site: calls.budgets(site)["high"].epsilon_worst_case for site in PARTIES}
        assert spent == pytest.approx(dict.fromkeys(PARTIES, cost_of(5)), rel=1e-6)


def test_a_data_dependent_batch_dies_once_and_the_next_goes_without_the_unit(tmp_path: Path) -> None:
    with served(tmp_path, POLICY + SEALED + VANISH, low=8.0, high=500.0) as calls:
        session = calls.open(asked()).session_id
        ticket = calls.ticket(session, 1, 20)
        assert bits(ticket, "low") == dict.fromkeys(PARTIES, 20)
        total = voted(calls, ticket, votes_of(ticket, lambda _: np.full(4, 0.25)))
        assert refusal(lambda: calls.release(session, 1, total)) == "batch.dead"
        again = calls.ticket(session, 2, 20)
        assert bits(again, "low") == dict.fromkeys(PARTIES, 0)
        assert bits(again, "high") == dict.fromkeys(PARTIES, 20)
        assert labelled(calls, again) == [1] * 20
        assert calls.budgets("a")["low"].epsilon_worst_case == 0


def test_a_session_without_units_that_can_pay_only_ends(tmp_path: Path) -> None:
    with served(tmp_path, POLICY + SEALED + VANISH, high=8.0) as calls:
        session = calls.open(asked()).session_id
        ticket = calls.ticket(session, 1, 20)
        total = voted(calls, ticket, votes_of(ticket, lambda _: np.full(4, 0.25)))
        assert refusal(lambda: calls.release(session, 1, total)) == "batch.dead"
        assert refusal(lambda: calls.ticket(session, 2, 20)) == "session.ended"
        assert refusal(lambda: calls.ticket(session, 3, 1)) == "session.ended"


@pytest.mark.heavy
def test_suspended_and_removed_parties_vote_no_more(tmp_path: Path) -> None:
    with served(tmp_path, high=100.0) as calls:
        session = calls.open(asked()).session_id
        calls.set_party("a", "suspended")
        assert set(bits(calls.ticket(session, 1, 5), "high")) == {"b", "c"}
        assert refusal(lambda: calls.open(asked(nonce=b"m" * 16))) == "party.suspended"
        calls.set_party("a", "active")
        assert set(bits(calls.ticket(session, 2, 5), "high")) == set(PARTIES)
        calls.set_party("c", "removed")
        assert set(bits(calls.ticket(session, 3, 5), "high")) == {"a", "b"}
        assert refusal(lambda: calls.open(asked(nonce=b"m" * 16))) == "party.removed"
        assert refusal(lambda: calls.register("c", groups=GROUPS)) == "party.removed"


def test_a_querying_party_asks_so_much_a_day(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with served(tmp_path, POLICY + "max_queries_per_day = 25\n", clock, high=500.0) as calls:
        first = calls.open(asked()).session_id
        calls.ticket(first, 1, 20)
        second = calls.open(asked(nonce=b"m" * 16)).session_id
        assert refusal(lambda: calls.ticket(second, 1, 6)) == "policy.daily_limit"
        calls.ticket(second, 2, 5)
        clock.advance(24 * 3600)
        assert calls.ticket(second, 3, 6).size == 6


@pytest.mark.parametrize(
    "changed",
    ['enforce = "data_dependent"', "min_sigma = 3.0", 'mechanisms = ["confident"]', "max_batch = 10"],
)
def test_a_policy_holds_from_the_next_batch_on(tmp_path: Path, changed: str) -> None:
    with served(tmp_path, high=500.0) as calls:
        session = calls.open(asked()).session_id
        ticket = calls.ticket(session, 1, 5)
        calls.apply_policy(f"min_quorum = 1\n{changed}\n")
        assert refusal(lambda: calls.ticket(session, 2, 5)) == "policy.refused"
        assert refusal(lambda: calls.open(asked(nonce=b"m" * 16))) == "policy.refused"
        assert labelled(calls, ticket) == [1] * 5


def test_no_budget_of_another_enforcement_decides_in_a_session(tmp_path: Path) -> None:
    """A label budget that is set while another policy holds would stop a session by its votes."""
    with served(tmp_path, high=500.0) as calls:
        session = calls.open(asked()).session_id
        calls.apply_policy(POLICY + SEALED)
        calls.budget("a", 8.0, group="high", order=8.0, adjacency="label")
        calls.apply_policy(POLICY)
        assert refusal(lambda: calls.ticket(session, 1, 5)) == "policy.refused"


@pytest.mark.heavy
def test_a_milder_policy_lets_a_session_go_on(tmp_path: Path) -> None:
    with served(tmp_path, low=paying(1), high=paying(15)) as calls:
        session = calls.open(asked()).session_id
        assert labelled(calls, calls.ticket(session, 1, 1)) == [1]
        assert details(lambda: calls.ticket(session, 2, 5)) == {"fits": "0"}
        calls.apply_policy(POLICY + VANISH)
        assert set(bits(calls.ticket(session, 3, 5), "low").values()) == {0}


@pytest.mark.heavy
def test_budgets_start_anew_only_where_the_policy_says_so(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    policy = POLICY + "renewal_days = 1\ngrant_ttl_s = 1e6\n"
    with served(tmp_path, policy, clock, high=paying(1)) as calls:
        session = calls.open(asked()).session_id
        assert labelled(calls, calls.ticket(session, 1, 1)) == [1]
        assert details(lambda: calls.ticket(session, 2, 1)) == {"fits": "0"}
        clock.advance(24 * 3600)
        assert labelled(calls, calls.ticket(session, 3, 1)) == [1]
        budget = calls.budgets("a")["high"]
        assert budget.epsilon_worst_case == pytest.approx(cost_of(1), rel=1e-6)
        assert budget.epsilon_lifetime == pytest.approx(cost_of(2), rel=1e-6)
        assert budget.broken_unix_s > 0
