"""Registration over real sockets: lost histories, receipts, and what they cost."""

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.clock import ManualClock, SystemClock
from ostraka.common.identity import Role
from ostraka.common.mechanism import Confident, GnMax
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.privacy.gaussian import MIN_SIGMA
from ostraka.common.wire.contexts import AUDIT_CONTEXT, RECEIPTS_CONTEXT
from ostraka.guardian.ledger.members.limits import MANIFESTS_A_DAY
from ostraka.guardian.members import receipts
from ostraka.protos.ostraka.v1 import admin_pb2, common_pb2, guardian_pb2
from tests.guardian.federation import (
    PARTIES,
    TEACHERS,
    Calls,
    Federation,
    group,
    plan,
    receipt,
    refusal,
    unanimous,
)

ASKED = Confident(sigma1=4.0, sigma2=2.0, threshold=15.0)


def head_of(federation: Federation, sequence: int, signer: str = "guardian") -> common_pb2.AuditHead:
    """Sign a head of a log that this guardian no longer has."""
    role = Role.GUARDIAN if signer == "guardian" else Role.PARTY
    signed = federation.credentials[signer, role].sign(AUDIT_CONTEXT, sequence.to_bytes(8, "big") + bytes(32))
    return common_pb2.AuditHead(sequence=sequence, hash=bytes(32), signed=signed)


def lost(**changes: Any) -> common_pb2.Receipt:
    return receipt(ASKED, **{"queries": 12, "sensitivity": 1.5} | changes)


def lose(calls: Calls, federation: Federation) -> guardian_pb2.RegisterReply:
    """Party a shows a head that the guardian's log lacks."""
    return calls.register("a", kept=head_of(federation, 10_000))


def test_a_head_beyond_what_a_log_can_hold_is_refused(federation: Federation) -> None:
    with federation.guardian() as calls:
        head = head_of(federation, 2**63)
        assert refusal(lambda: calls.register("a", kept=head)) == "message.invalid"


def test_a_lost_history_is_made_good_from_receipts(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=30.0)
        calls.budget("a", 40.0, adjacency="label", order=4.0)
        session = calls.open().session_id
        reply = lose(calls, federation)
        assert reply.reconcile
        assert reply.epoch == 1
        assert refusal(lambda: calls.ticket(session, 1, 5)) == "session.ended"
        assert refusal(lambda: calls.open(plan(nonce=b"m" * 16))) == "party.unreconciled"
        assert calls.reconcile("a", [lost(), lost(batch_id=2, queries=3)]).charged == 4
        assert not calls.register("a").reconcile
        budgets = list(calls.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a")))
        assert {b.adjacency for b in budgets} == {"record", "label"}
        for budget in budgets:
            cost = ASKED.worst_case(budget.order, 1.5, classes=4).reservation(15, 1)
            spent = epsilon(cost * AMOUNT_UNIT, budget.order, 1e-5)
            assert budget.epsilon_worst_case == pytest.approx(spent, rel=1e-9)
        for site in "bc":
            assert calls.register(site).reconcile
            assert calls.reconcile(site, [lost()]).charged == 1
        assert calls.reconcile("c", [lost()]).charged == 0
        assert calls.open(plan(nonce=b"m" * 16)).session_id


def test_an_empty_journal_reconciles_too(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        reply = calls.reconcile("a", [])
        assert (reply.charged, reply.epoch) == (0, 1)
        assert not calls.register("a").reconcile


@pytest.mark.parametrize("signer", ["a", "guardian"])
def test_a_head_that_this_guardian_did_not_sign_proves_nothing(federation: Federation, signer: str) -> None:
    """Otherwise any party could end all sessions of the federation."""
    with federation.guardian() as calls:
        calls.prepare_all()
        head = head_of(federation, 10_000, signer)
        if signer == "guardian":
            head.sequence += 1
        code = refusal(lambda: calls.register("a", kept=head))
        assert code == ("message.invalid" if signer == "guardian" else "identity.wrong_role")
        assert calls.register("a").epoch == 0


def test_a_head_of_this_log_is_welcome(federation: Federation) -> None:
    with federation.guardian() as calls:
        head = calls.register("a").audit_head
        reply = calls.register("a", kept=head)
        assert not reply.reconcile
        assert reply.epoch == 0


@pytest.fixture(scope="module")
def reconciling(refusing: Calls, lasting: Federation) -> Calls:
    """Return calls of a guardian that lost what party a knows, for cases that change nothing."""
    lose(refusing, lasting)
    return refusing


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"adjacency": "person"}, "message.invalid"),
        ({"classes": 1}, "message.invalid"),
        ({"sensitivity": 0.0}, "message.invalid"),
        ({"sensitivity": float("nan")}, "message.invalid"),
        ({"session_id": ""}, "message.invalid"),
        ({"batch_id": 2**63}, "message.invalid"),
        ({"mechanism": common_pb2.Mechanism()}, "message.invalid"),
        ({"mechanism": common_pb2.Mechanism(gnmax=common_pb2.GnMax(sigma=-1))}, "message.invalid"),
        ({"group": "other"}, "budget.missing"),
    ],
)
def test_receipts_that_say_no_cost_are_refused_whole(
    reconciling: Calls, changes: dict[str, Any], code: str
) -> None:
    assert refusal(lambda: reconciling.reconcile("a", [lost(), lost(**changes)])) == code
    assert reconciling.spent("a") == 0
    assert reconciling.register("a").reconcile


def test_a_receipt_without_a_known_cost_leaves_nothing_of_a_gaussian_budget(federation: Federation) -> None:
    """The lost budget had another filter; its party can reconcile all the same."""
    narrow = receipt(Confident(sigma1=4.0, sigma2=MIN_SIGMA / 2, threshold=15.0))
    with federation.guardian() as calls:
        calls.prepare_all()
        calls.budget("a", 40.0, adjacency="label", filter="gaussian")
        lose(calls, federation)
        assert calls.reconcile("a", [narrow]).charged == 2
        assert not calls.register("a").reconcile
        found = calls.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a"))
        (label,) = (budget for budget in found if budget.adjacency == "label")
        assert label.epsilon_worst_case > 1e6 > label.epsilon


@pytest.mark.parametrize(
    ("sensitivity", "sigma"), [(1e200, 40.0), (1e308, 40.0), (1.0, 5e-324), (sys.float_info.max, 5e-324)]
)
def test_a_receipt_of_a_cost_beyond_all_numbers_leaves_nothing_of_a_budget(
    federation: Federation, sensitivity: float, sigma: float
) -> None:
    mechanism = common_pb2.Mechanism(gnmax=common_pb2.GnMax(sigma=sigma))
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        told = lost(mechanism=mechanism, sensitivity=sensitivity)
        assert calls.reconcile("a", [told]).charged == 1
        assert not calls.register("a").reconcile
        assert calls.spent("a") > 1e6
    federation.verify_ledger()


@pytest.mark.parametrize(("declared_votes", "broken"), [([1], False), ([1, 3, 1], True)])
def test_a_raise_that_was_lowered_again_and_forgotten_is_recosted(
    federation: Federation, declared_votes: list[int], broken: bool
) -> None:
    """The manifests that are left say 1 and 1; a receipt of a lost batch says nothing of more votes."""
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        assert calls.reconcile("a", [lost()], declared_votes).charged == 1
        (found,) = calls.budgets("a").values()
        assert bool(found.broken_unix_s) is broken


def test_receipts_are_of_who_sends_them(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        payload = common_pb2.Receipts(site="b", receipts=[lost()]).SerializeToString()
        for signer in "ab":
            signed = federation.credentials[signer, Role.PARTY].sign(RECEIPTS_CONTEXT, payload)
            request = guardian_pb2.ReconcileRequest(receipts=signed)
            send = partial(calls.stub("a", Role.PARTY).Reconcile, iter([request]))
            assert refusal(send) == "message.invalid"
        assert refusal(lambda: calls.query.Reconcile(iter([]))) == "identity.wrong_role"


def test_mixed_and_separate_groups_are_kept_as_declared(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.register("a", groups=[group("low", teachers=3), group("high", teachers=5)])
        calls.register("b", groups=[group("low", copies=2), group("high")], mixed=True)
        calls.register("c")
        for site, names in (("a", ("low", "high")), ("b", ("low", "high")), ("c", ("all",))):
            for name in names:
                calls.budget(site, 100.0, group=name)
        grant = calls.open(plan(mechanism=GnMax(sigma=2.0)))
        cohorts = {p.site: [(list(c.groups), c.teachers) for c in p.cohorts] for p in grant.participants}
        assert cohorts == {
            "a": [(["low"], 3), (["high"], 5)],
            "b": [(["low", "high"], 10)],
            "c": [(["all"], 10)],
        }
        assert {p.site: p.teachers for p in grant.participants} == dict(
            zip(PARTIES, (8, 10, 10), strict=True)
        )


@pytest.mark.heavy
def test_a_new_name_for_a_group_is_no_new_budget(federation: Federation) -> None:
    """One group is split by consent level, and joined again: its records have spent what they have."""
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=30.0)
        calls.budget("a", 60.0, group="high", order=1.5)
        label(calls)
        spent = calls.budgets("a")["all"]
        assert spent.epsilon_worst_case > 0
        assert calls.budgets("a")["high"].epsilon_worst_case == 0
        calls.budget("a", 30.0, group="low")
        calls.register("a", groups=[group("low"), group("high")])
        split = calls.budgets("a")
        assert split["low"].epsilon_worst_case == spent.epsilon_worst_case
        assert split["high"].epsilon_worst_case > spent.epsilon_worst_case
        label(calls, nonce=b"m" * 16)
        calls.register("a")
        joined = calls.budgets("a")
        assert joined["all"].epsilon_worst_case == joined["low"].epsilon_worst_case > spent.epsilon_worst_case


@pytest.mark.heavy
@pytest.mark.parametrize("threshold", [0.1, 1000.0], ids=["answered", "refused"])
def test_what_was_spent_is_known_at_a_larger_order_too(federation: Federation, threshold: float) -> None:
    """A smaller budget takes a larger order, at which the party's batches are costed again."""
    mechanism = Confident(sigma1=4.0, sigma2=20.0, threshold=threshold)
    with federation.guardian() as calls:
        calls.prepare_all(epsilon=30.0)
        calls.register("a", max_votes_per_person=2)
        label(calls, mechanism=mechanism)
        session = calls.open(plan(mechanism=mechanism, nonce=b"m" * 16)).session_id
        calls.ticket(session, 1, 5)
        low = calls.budget("a", 10.0, group="low", order=16.0)
        cost = mechanism.worst_case(16.0, 2.0, classes=4)
        answered = cost.reservation(20, 1 if threshold < 1 else 0) + cost.reservation(5, 1)
        assert low.epsilon_worst_case == epsilon(answered * AMOUNT_UNIT, 16.0, 1e-5)


def label(calls: Calls, **changes: Any) -> None:
    """Run a session in which every teacher votes on 20 queries, all of them answered."""
    session = calls.open(plan(**{"mechanism": GnMax(sigma=20.0)} | changes)).session_id
    ticket = calls.ticket(session, 1, 20)
    teachers = {s.participant.site: s.participant.teachers for s in ticket.schedule}
    votes = unanimous(20) * np.array([teachers[site] // TEACHERS for site in PARTIES])[:, None, None]
    assert len(calls.release(session, 1, calls.vote(session, 1, votes))) == 20


@pytest.mark.parametrize(
    "changes",
    [{"together": "dp_ttac"}, {"together": "federated"}, {"abstains": [2, 1]}, {"abstains": [1, 1]}],
    ids=str,
)
def test_a_manifest_says_how_its_teachers_learned_and_abstain_in_known_words(
    federation: Federation, changes: dict[str, Any]
) -> None:
    with federation.guardian() as calls:
        assert refusal(lambda: calls.register("a", **changes)) == "manifest.invalid"
        assert not calls.register("a", together="dp-ttac", abstains=[1, 2]).reconcile


@pytest.mark.parametrize(
    "changes", [{"training": "x" * 4_000_000}, {"training": "x" * 201}, {"groups": [group("all")] * 1001}]
)
def test_a_fat_manifest_is_refused_and_leaves_nothing(
    federation: Federation, changes: dict[str, Any]
) -> None:
    with federation.guardian() as calls:
        before = calls.admin.Head(admin_pb2.HeadRequest()).sequence
        assert refusal(lambda: calls.register("a", **changes)) == "message.too_large"
        assert not list(calls.admin.ListParties(admin_pb2.ListPartiesRequest()))
        assert calls.admin.Head(admin_pb2.HeadRequest()).sequence == before


@pytest.mark.heavy
def test_a_party_changes_its_manifest_so_often_in_a_day(tmp_path: Path) -> None:
    clock = ManualClock(SystemClock().now())
    with Federation(tmp_path, clock).guardian() as calls:
        for number in range(MANIFESTS_A_DAY):
            calls.register("a", training=f"attempt {number}")
        before = calls.admin.Head(admin_pb2.HeadRequest()).sequence
        for _ in range(2):
            assert refusal(lambda: calls.register("a", training="one more")) == "manifest.daily_limit"
        assert calls.admin.Head(admin_pb2.HeadRequest()).sequence == before
        assert calls.register("a", training=f"attempt {MANIFESTS_A_DAY - 1}").audit_head.sequence == before
        assert calls.register("b").epoch == 0
        clock.advance(24 * 3600.0)
        calls.register("a", training="one more")


def test_receipts_of_a_party_that_owes_none_are_not_read(federation: Federation) -> None:
    def never() -> Iterator[guardian_pb2.ReconcileRequest]:
        yield guardian_pb2.ReconcileRequest()

    with federation.guardian() as calls:
        stub = calls.stub("a", Role.PARTY)
        assert refusal(lambda: stub.Reconcile(never())) == "party.unknown"
        calls.prepare_all()
        assert stub.Reconcile(never()).charged == 0


def test_a_message_has_so_many_receipts(federation: Federation) -> None:
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        payload = common_pb2.Receipts(site="a").SerializeToString() + b"\x12\x00" * 10_001
        signed = federation.credentials["a", Role.PARTY].sign(RECEIPTS_CONTEXT, payload)
        request = guardian_pb2.ReconcileRequest(receipts=signed)
        send = partial(calls.stub("a", Role.PARTY).Reconcile, iter([request]))
        assert refusal(send) == "message.too_large"
        assert calls.register("a").reconcile


def test_all_messages_together_have_so_many_receipts(
    federation: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "MAX_RECEIPTS", 3)
    with federation.guardian() as calls:
        calls.prepare_all()
        lose(calls, federation)
        own = federation.credentials["a", Role.PARTY]
        requests = []
        for first in (1, 3):
            part = common_pb2.Receipts(site="a", receipts=[lost(batch_id=first), lost(batch_id=first + 1)])
            signed = own.sign(RECEIPTS_CONTEXT, part.SerializeToString())
            requests.append(guardian_pb2.ReconcileRequest(receipts=signed))
        stub = calls.stub("a", Role.PARTY)
        assert refusal(lambda: stub.Reconcile(iter(requests))) == "message.too_large"
        assert calls.register("a").reconcile
        assert stub.Reconcile(iter(requests[:1])).charged == 2


def test_the_largest_manifests_are_listed(federation: Federation) -> None:
    groups = [group(f"{number:032d}") for number in range(1000)]
    with federation.guardian() as calls:
        for site in PARTIES:
            calls.register(site, groups=groups, training="x" * 200, abstains=range(65_536))
        found = list(calls.admin.ListParties(admin_pb2.ListPartiesRequest()))
    assert [len(info.groups) for info in found] == [1000] * len(PARTIES)
