"""The guardian over real mTLS gRPC: sessions, freezes, releases, restarts, budgets."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.identity import Role
from ostraka.common.mechanism import Confident, GnMax, Mechanism
from ostraka.common.sharing.fixed_point import encode
from ostraka.guardian.ledger import verify
from ostraka.guardian.ledger.sessions import releases
from ostraka.guardian.noise import ExactNoise
from ostraka.guardian.serving import service
from ostraka.guardian.serving.share_messages import read_share
from ostraka.protos.ostraka.v1 import admin_pb2, guardian_pb2
from tests.fair_clock import HANGS_S
from tests.guardian.federation import (
    FEDERATION,
    PARTIES,
    RING,
    Calls,
    Federation,
    framed_ballots,
    group,
    plan,
    refusal,
    unanimous,
    voters,
)


@pytest.mark.heavy
def test_a_batch_is_labelled_and_charged_once(guardian: Calls, federation: Federation) -> None:
    session = guardian.open().session_id
    ticket = guardian.ticket(session, 1, 20)
    assert {s.participant.site for s in ticket.schedule} == set(PARTIES)
    total = guardian.vote(session, 1, unanimous(20, label=2))
    answers = guardian.release(session, 1, total)
    assert answers == [(True, 2)] * 20
    spent = guardian.spent()
    assert spent > 0
    assert guardian.release(session, 1, total) == answers
    assert guardian.settle(session, 1).released
    assert guardian.spent() == spent
    head = verify(
        federation.guardian_folder / "ledger.db",
        ca_pem=federation.credentials["q", Role.QUERY].ca_pem,
        federation=FEDERATION,
    )
    assert head.sequence > 0


@pytest.mark.heavy
@pytest.mark.parametrize(("most", "sizes"), [(20, [20]), (19, [19, 1])])
def test_a_message_has_so_many_answers_and_no_more(
    guardian: Calls, most: int, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ANSWERS_PER_MESSAGE", most)
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    replies = guardian.replies(session, 1, guardian.vote(session, 1, unanimous(20, label=2)))
    assert [len(reply.answers) for reply in replies] == sizes


def test_unanswered_queries_cost_the_check_alone(guardian: Calls) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    nobody = np.zeros((3, 20, 4), dtype=np.int64)
    answers = guardian.release(session, 1, guardian.vote(session, 1, nobody))
    assert not any(answered for answered, _ in answers)
    unanswered = guardian.spent()
    guardian.ticket(session, 2, 20)
    guardian.release(session, 2, guardian.vote(session, 2, unanimous(20)))
    assert guardian.spent() > 1.5 * unanswered


def test_a_share_that_does_not_end_gives_way_to_the_next_one(
    guardian: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    share = encode(unanimous(20)[0], RING)
    header, _ = framed_ballots(session, 1, share)
    reading, ended = threading.Semaphore(0), threading.Event()

    def noted(*words: Any) -> Any:
        reading.release()
        return read_share(*words)

    def unfinished() -> Iterator[guardian_pb2.SubmitBallotsRequest]:
        yield guardian_pb2.SubmitBallotsRequest(header=header)
        ended.wait()

    monkeypatch.setattr(service, "read_share", noted)
    calls: list[Any] = []
    for _ in range(3):
        calls.append(guardian.begin_submitting(PARTIES[0], unfinished()))
        assert reading.acquire(timeout=HANGS_S)
    guardian.submit(PARTIES[0], session, 1, share)
    assert [call.exception().code() for call in calls] == [grpc.StatusCode.CANCELLED] * 3
    ended.set()


def test_the_same_plan_opens_one_session(guardian: Calls) -> None:
    assert guardian.open().session_id == guardian.open().session_id
    assert guardian.open(plan(nonce=b"m" * 16)).session_id != guardian.open().session_id


def test_an_altered_release_is_refused(guardian: Calls) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    total = guardian.vote(session, 1, unanimous(20))
    guardian.release(session, 1, total)
    total[0, 0] += 1
    assert refusal(lambda: guardian.release(session, 1, total)) == "batch.altered"


@pytest.mark.heavy
def test_concurrent_duplicates_draw_noise_once(federation: Federation) -> None:
    draws = []

    class Counting(ExactNoise):
        def uniform(self, shape: tuple[int, ...]) -> np.ndarray:
            draws.append(shape)
            return super().uniform(shape)

    with federation.guardian(Counting()) as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20))
        results: list[list[tuple[bool, int]]] = []
        threads = [
            threading.Thread(target=lambda: results.append(guardian.release(session, 1, total)))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(results) == 8
    assert all(result == results[0] for result in results)
    assert len(draws) == 1


def answers_with_offset(
    guardian: Calls, mechanism: Mechanism, offset: int, queries: int = 200
) -> list[tuple[bool, int]]:
    """Release empty ballots to which the querying party adds `offset` on class 0."""
    guardian.prepare_all(epsilon=1e5)
    session = guardian.open(plan(queries=queries, batch_size=queries, mechanism=mechanism)).session_id
    guardian.ticket(session, 1, queries)
    total = guardian.vote(session, 1, np.zeros((3, queries, 4), dtype=np.int64))
    total[:, 0] += np.uint64(offset % 2**64)
    return guardian.release(session, 1, total)


def test_half_ring_offset_leaves_the_argmax_to_the_noise(federation: Federation) -> None:
    with federation.guardian() as guardian:
        answers = answers_with_offset(guardian, GnMax(sigma=2.0), 2**63)
    wins = [label for _, label in answers].count(0)
    assert 5 < wins < 100  # of 200; a fifth on average


@pytest.mark.heavy
@pytest.mark.parametrize(("offset", "low", "high"), [(2**63, 200, 200), (-15 << 16, 40, 160)])
def test_offsets_cannot_make_one_vote_decide_the_check(
    federation: Federation, offset: int, low: int, high: int
) -> None:
    """Half the ring is as far as it gets, on either side; near the threshold the noise decides."""
    mechanism = Confident(sigma1=2.0, sigma2=1.0, threshold=15.0)
    with federation.guardian() as guardian:
        answers = answers_with_offset(guardian, mechanism, offset)
    assert low <= sum(answered for answered, _ in answers) <= high


def test_a_random_sum_is_answered_and_charged_the_worst_case(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nbound = "theorem6"\nmin_sigma = 0.5\n'
    rng = np.random.default_rng(1)
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        guardian.prepare_all(epsilon=1e4)
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20))
        total += rng.integers(0, 2**64, total.shape, dtype=np.uint64)
        assert len(guardian.release(session, 1, total)) == 20
    from ostraka.guardian.admin.confidential import totals

    for unit in totals(tmp_path / "guardian-guardian"):
        assert unit["epsilon_data_dependent"] == pytest.approx(unit["epsilon_worst_case"], rel=1e-9)


@pytest.mark.heavy
def test_a_restart_kills_open_batches_and_voids_their_reservations(federation: Federation) -> None:
    with federation.guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        total = guardian.vote(session, 1, unanimous(20))
        guardian.release(session, 1, total)
        spent = guardian.spent()
        guardian.ticket(session, 2, 20)
        unsent = guardian.vote(session, 2, unanimous(20))
    with federation.guardian() as guardian:
        assert guardian.release(session, 1, total) == [(True, 1)] * 20
        assert refusal(lambda: guardian.release(session, 2, unsent)) == "batch.dead"
        assert not guardian.settle(session, 2).released
        assert guardian.spent() == spent
        (budget,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a"))
        assert budget.epsilon_reserved == 0
        guardian.ticket(session, 3, 20)
        assert len(guardian.release(session, 3, guardian.vote(session, 3, unanimous(20)))) == 20


def test_a_second_guardian_leaves_the_first_alone(guardian: Calls, federation: Federation) -> None:
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    with pytest.raises(OstrakaError) as refused, federation.guardian():
        pass
    assert refused.value.code == "ledger.locked"
    assert len(guardian.release(session, 1, guardian.vote(session, 1, unanimous(20)))) == 20


def test_budgets_of_another_enforcement_are_refused(tmp_path: Path) -> None:
    federation = Federation(tmp_path, votes_may_tell=True)
    with federation.guardian() as guardian:
        guardian.prepare_all()
    site = federation.guardian_folder / "site.toml"
    site.write_text(site.read_text().replace("worst_case", "data_dependent"))
    with federation.guardian() as guardian:
        assert refusal(guardian.open) == "policy.refused"


def test_freezes_the_intersection_at_the_deadline(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        votes = unanimous(20, sites=2)
        shares = [encode(v, RING) for v in votes]
        for site, share in zip("ab", shares, strict=True):
            guardian.submit(site, session, 1, share)
        waiting = guardian.prepare(session, 1)
        assert not waiting.frozen
        assert waiting.retry_after_ms > 0
        assert refusal(lambda: guardian.release(session, 1, shares[0] * np.uint64(0))) == "batch.not_frozen"
        clock.advance(31)
        assert list(guardian.prepare(session, 1).frozen) == ["a", "b"]
        late = refusal(lambda: guardian.submit("c", session, 1, shares[0]))
        assert late == "batch.frozen"
        guardian.release(session, 1, shares[0] * np.uint64(0))
        assert guardian.spent("c") == 0
        assert guardian.spent("a") > 0


def test_a_batch_waits_longer_where_more_parties_vote(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as guardian:
        guardian.prepare_all()
        two, three = (guardian.open(plan(parties=tuple(parties))) for parties in ("ab", "abc"))
        waits = [guardian.ticket(grant.session_id, 1, 20).freeze_unix_ms for grant in (two, three)]
    assert waits == [int((clock.now() + wait) * 1000) for wait in (30.02, 30.03)]


def test_a_lost_quorum_kills_the_batch_uncharged(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        guardian.submit("a", session, 1, encode(unanimous(20)[0], RING))
        clock.advance(31)
        assert refusal(lambda: guardian.prepare(session, 1)) == "quorum.lost"
        assert not guardian.settle(session, 1).released
        assert guardian.spent() == 0


def test_unavailable_parties_are_left_out_of_the_ticket(guardian: Calls) -> None:
    session = guardian.open().session_id
    ticket = guardian.ticket(session, 1, 20, unavailable=["b"])
    assert {s.participant.site for s in ticket.schedule} == {"a", "c"}
    assert refusal(lambda: guardian.ticket(session, 2, 20, unavailable=["a", "b"])) == "quorum.lost"


def test_a_budget_too_small_is_refused_whole_and_says_what_fits(federation: Federation) -> None:
    with federation.guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
            guardian.budget(site, 15.0 if site == "b" else 1000.0)
        session = guardian.open().session_id
        assert refusal(lambda: guardian.ticket(session, 1, 20)) == "budget.too_small"
        assert guardian.spent("a") == 0
        guardian.ticket(session, 2, 1)


@pytest.mark.heavy
def test_data_dependent_exhaustion_only_ends_the_session(tmp_path: Path) -> None:
    policy = 'enforce = "data_dependent"\nbound = "theorem6"\nmin_sigma = 0.5\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        guardian.prepare_all(epsilon=2.0)
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        split = unanimous(20)
        split[:, :, 3] = 9
        total = guardian.vote(session, 1, split)
        assert refusal(lambda: guardian.release(session, 1, total)) == "session.ended"
        assert refusal(lambda: guardian.ticket(session, 2, 1)) == "session.ended"
        assert guardian.spent() == 0


def test_a_used_up_budget_ends_later_sessions_before_anyone_votes(tmp_path: Path) -> None:
    """Otherwise shifted sums could be tried in new sessions, free of charge, until one fits."""
    policy = 'enforce = "data_dependent"\nbound = "theorem6"\nmin_sigma = 0.5\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
            guardian.budget(site, 2.0 if site == "a" else 1000.0)
        session = guardian.open().session_id
        guardian.ticket(session, 1, 20)
        split = unanimous(20)
        split[:, :, 3] = 9
        total = guardian.vote(session, 1, split)
        assert refusal(lambda: guardian.release(session, 1, total)) == "session.ended"
        quiet = plan(nonce=b"m" * 16, mechanism=GnMax(sigma=40.0))
        again = guardian.open(quiet).session_id
        without = guardian.ticket(again, 1, 1, unavailable=["a"])
        assert [schedule.participant.site for schedule in without.schedule] == ["b", "c"]
        assert refusal(lambda: guardian.ticket(again, 2, 1)) == "session.ended"
        assert refusal(lambda: guardian.ticket(again, 3, 1, unavailable=["a"])) == "session.ended"


def test_a_party_with_a_new_manifest_needs_a_new_session(guardian: Calls) -> None:
    """The session goes on without it, so that nobody ends those of others by registering again."""
    mechanism = Confident(sigma1=8.0, sigma2=4.0, threshold=15.0)
    session = guardian.open(plan(mechanism=mechanism)).session_id
    guardian.ticket(session, 1, 20)
    guardian.register("a", max_votes_per_person=5)
    assert voters(guardian.ticket(session, 2, 20)) == ["b", "c"]
    guardian.register("b", max_votes_per_person=5)
    assert refusal(lambda: guardian.ticket(session, 3, 20)) == "manifest.changed"
    assert len(guardian.release(session, 1, guardian.vote(session, 1, unanimous(20)))) == 20
    before = {site: guardian.spent(site) for site in ("a", "c")}
    renewed = guardian.open(plan(mechanism=mechanism, nonce=b"m" * 16)).session_id
    guardian.ticket(renewed, 1, 20)
    guardian.release(renewed, 1, guardian.vote(renewed, 1, unanimous(20)))
    cost = {site: guardian.spent(site) - spent for site, spent in before.items()}
    assert cost["a"] > 10 * cost["c"]


def test_a_record_charge_debits_the_label_budget(guardian: Calls) -> None:
    guardian.budget("a", 500.0, adjacency="label")
    session = guardian.open().session_id
    guardian.ticket(session, 1, 20)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(20)))
    budgets = list(guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a")))
    assert {b.adjacency for b in budgets if b.epsilon_worst_case > 0} == {"label", "record"}


def test_what_is_held_back_is_returned_when_the_grant_runs_out(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as guardian:
        guardian.prepare_all()
        guardian.ticket(guardian.open().session_id, 1, 20)
        clock.advance(86_400 + 61)
        guardian.open(plan(nonce=b"m" * 16))
        (budget,) = guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a"))
        assert budget.epsilon_reserved == 0


def test_only_added_parties_take_part(tmp_path: Path) -> None:
    policy = 'enforce = "worst_case"\nmin_sigma = 0.5\nadmission = "added"\n'
    with Federation(tmp_path, policy=policy).guardian() as guardian:
        for site in "ab":
            guardian.set_party(site, "added")
        assert refusal(lambda: guardian.register("c")) == "policy.refused"
        for site in "ab":
            guardian.register(site)
            guardian.budget(site, 1000.0)
        assert refusal(guardian.open) == "policy.refused"
        assert guardian.open(plan(parties=("a", "b"))).session_id


@pytest.mark.heavy
def test_a_ledger_locked_at_release_keeps_the_draw(guardian: Calls, monkeypatch: pytest.MonkeyPatch) -> None:
    """The retry gets what was drawn before; another sum is refused although nothing was stored."""
    session = guardian.open(plan(mechanism=GnMax(sigma=1000.0))).session_id
    guardian.ticket(session, 1, 20)
    total = guardian.vote(session, 1, unanimous(20))
    seen: list[bytes] = []
    stored = releases.release

    def locked_once(*words: Any, **named: Any) -> bytes:
        seen.append(words[4])
        if len(seen) == 1:
            raise OstrakaError(ErrorCode.LEDGER_LOCKED, "Locked for this test.")
        return stored(*words, **named)

    monkeypatch.setattr(releases, "release", locked_once)
    assert refusal(lambda: guardian.release(session, 1, total)) == "ledger.locked"
    assert refusal(lambda: guardian.release(session, 1, total + np.uint64(1))) == "batch.altered"
    assert len(guardian.release(session, 1, total)) == 20
    assert len(set(seen)) == 1


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"quorum": 1}, "policy.refused"),
        ({"mechanism": GnMax(sigma=0.1)}, "policy.refused"),
        ({"parties": ("a", "z")}, "party.unknown"),
        ({"task_digest": bytes(32)}, "task.mismatch"),
        ({"ring_bits": 32, "mechanism": GnMax(sigma=3000.0)}, "plan.ring_too_small"),
    ],
)
def test_refused_plans(guardian: Calls, changes: dict[str, object], code: str) -> None:
    assert refusal(lambda: guardian.open(plan(**changes))) == code


def test_a_plan_without_a_budget_is_refused(federation: Federation) -> None:
    with federation.guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
        assert refusal(guardian.open) == "budget.missing"


def test_malformed_plan_bytes(guardian: Calls) -> None:
    request = guardian_pb2.OpenSessionRequest(plan=b"\xff\xff")
    assert refusal(lambda: guardian.query.OpenSession(request), "its bytes are") == "plan.invalid"


def test_batches_within_plan_and_ticket(guardian: Calls) -> None:
    session = guardian.open().session_id
    assert refusal(lambda: guardian.ticket(session, 1, 21)) == "batch.too_large"
    guardian.ticket(session, 1, 20)
    wide = encode(np.zeros((20, 5), dtype=np.int64), RING)
    assert refusal(lambda: guardian.submit("a", session, 1, wide)) == "message.invalid"
    unknown = encode(np.zeros((20, 4), dtype=np.int64), RING)
    assert refusal(lambda: guardian.submit("a", session, 9, unknown)) == "ticket.invalid"


def test_sessions_belong_to_whoever_opened_them(guardian: Calls) -> None:
    session = guardian.open().session_id
    stranger = guardian.stub("other", Role.QUERY)
    request = guardian_pb2.SettleBatchRequest(session_id=session, batch_id=1)
    assert refusal(lambda: stranger.SettleBatch(request)) == "session.unknown"


def test_roles_are_checked(guardian: Calls) -> None:
    party = guardian.stub("a", Role.PARTY)
    asked = guardian_pb2.OpenSessionRequest(plan=plan().serialize())
    assert refusal(lambda: party.OpenSession(asked)) == "identity.wrong_role"
    assert refusal(lambda: guardian.query.Register(guardian_pb2.RegisterRequest())) == "identity.wrong_role"


def test_a_closed_session_asks_nothing_more(guardian: Calls) -> None:
    session = guardian.open().session_id
    guardian.query.CloseSession(guardian_pb2.CloseSessionRequest(session_id=session))
    assert refusal(lambda: guardian.ticket(session, 1, 1)) == "session.closed"
    (summary,) = guardian.admin.ListSessions(admin_pb2.ListSessionsRequest())
    assert (summary.session_id, summary.state) == (session, "closed")


def test_an_expired_grant_asks_nothing_more(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as guardian:
        guardian.prepare_all()
        session = guardian.open().session_id
        clock.advance(86_400 + 61)
        assert refusal(lambda: guardian.ticket(session, 1, 1)) == "grant.expired"


@pytest.mark.parametrize(
    "changes",
    [
        {"site": "b"},
        {"groups": []},
        {"groups": [group("all"), group("all")]},
        {"groups": [group("Everybody!")]},
        {"groups": [group("all", copies=0)]},
        {"groups": [group("all", copies=2)]},
        {"groups": [group("low", teachers=0), group("high")]},
        {"groups": [group("all", records=9)]},
        {"groups": [group("low"), group("high", teachers=9)], "mixed": True},
        {"groups": [group("low", copies=11)], "mixed": True},
        {"groups": [group("low", records=9)], "mixed": True},
        {"max_votes_per_person": 0},
        {"task_digest": b"short"},
        {"training": "\x1b]0;title\x07"},
        {"head": "linear\n"},
        {"encoder": "x:y", "encoder_sha256": bytes(31)},
    ],
)
def test_refused_manifests(refusing: Calls, changes: dict[str, Any]) -> None:
    assert refusal(lambda: refusing.register("a", **changes)) == "manifest.invalid"


def test_budgets_are_set_once_or_lowered(guardian: Calls) -> None:
    assert guardian.budget("a", 500.0).epsilon == 500.0
    assert refusal(lambda: guardian.budget("a", 501.0)) == "budget.raise_refused"
    assert refusal(lambda: guardian.budget("a", 400.0, order=3.0)) == "budget.already_set"
    assert refusal(lambda: guardian.budget("a", 400.0, delta=1.0)) == "message.invalid"
