"""Sessions in which labels alone are secret, through a real guardian."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    RandRes,
    RandResLabels,
    Tau,
)
from ostraka.common.privacy import AMOUNT_UNIT, epsilon
from ostraka.common.privacy.worst_case import randomized_rdp
from ostraka.protos.ostraka.v1 import admin_pb2
from tests.guardian.blind.querying import asked as asked_blindly
from tests.guardian.blind.querying import blind_plan
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
    voters,
)
from tests.guardian.members.test_registration import lose
from tests.guardian.verified_batch import SIZE, Batch, verified

DRAWN = RandRes(epsilon=2.0)
VOTED = Confident(sigma1=2.0, sigma2=1.0, threshold=15.0)
CHECK = Check(sigma=2.0, threshold=18.0)
SETS: list[Mechanism] = [
    Binary(sigma=5.0),
    Binary(sigma=5.0, check=CHECK),
    Tau(sigma=4.0, tau=1.4, check=CHECK),
    L1(sigma=4.0, tau1=2.0),
    Powerset(sigma=2.0, max_positives=2),
    Powerset(sigma=2.0, check=CHECK),
]
LABEL = {"adjacency": "label"}
BATCH = {"queries": 5, "batch_size": 5}


@pytest.fixture
def guardian(tmp_path: Path) -> Iterator[Calls]:
    """Everybody has a budget for records and one for labels."""
    with Federation(tmp_path).guardian() as calls:
        calls.prepare_all()
        for site in PARTIES:
            calls.budget(site, 100.0, **LABEL)
        yield calls


def spent(guardian: Calls, site: str = "a") -> dict[str, float]:
    """Worst-case epsilon by what was charged."""
    found = list(guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party=site)))
    return {budget.adjacency: budget.epsilon_worst_case for budget in found}


def order(guardian: Calls, adjacency: str = "label") -> float:
    found = list(guardian.admin.ListBudgets(admin_pb2.ListBudgetsRequest(party="a")))
    return next(budget.order for budget in found if budget.adjacency == adjacency)


def drawn_votes() -> np.ndarray:
    """One-hot ballots (sites, queries, 4) of records that hold a query; nobody holds the last."""
    votes = np.zeros((len(PARTIES), 5, 4), dtype=np.int64)
    labels = {0: (3, 3, 1), 1: (0, 0, 0), 2: (2, None, None), 3: (None, 1, 1)}
    for query, row in labels.items():
        for site, label in enumerate(row):
            if label is not None:
                votes[site, query, label] = 1
    return votes


def asked(guardian: Calls, mechanism: Mechanism, votes: np.ndarray, **changes: Any) -> list[tuple[bool, int]]:
    size = votes.shape[1]
    opened = guardian.open(
        plan(**{"mechanism": mechanism, "queries": size, "batch_size": size} | LABEL | changes)
    ).session_id
    guardian.ticket(opened, 1, size)
    return guardian.release(opened, 1, guardian.vote(opened, 1, votes))


def share_features(guardian: Calls, *sites: str) -> None:
    for site in sites or PARTIES:
        guardian.register(site, shared_features=True)


def test_the_most_frequent_label_is_released_and_none_where_nobody_votes(guardian: Calls) -> None:
    answers = asked(guardian, DRAWN, drawn_votes())
    assert answers == [(True, 3), (True, 0), (True, 2), (True, 1), (False, 0)]


@pytest.mark.heavy
def test_labels_drawn_anew_cost_once_for_a_batch_and_labels_alone(guardian: Calls) -> None:
    asked(guardian, DRAWN, drawn_votes())
    at = order(guardian)
    once = epsilon(randomized_rdp(2.0, 4, at), at, 1e-5)
    assert spent(guardian) == {"record": 0, "label": pytest.approx(once, rel=1e-6)}
    asked(guardian, DRAWN, drawn_votes(), nonce=b"m" * 16)
    twice = epsilon(2 * randomized_rdp(2.0, 4, at), at, 1e-5)
    assert spent(guardian) == {"record": 0, "label": pytest.approx(twice, rel=1e-6)}


@pytest.mark.heavy
def test_a_batch_costs_as_often_as_a_person_has_records(guardian: Calls) -> None:
    guardian.register("a", max_votes_per_person=3)
    asked(guardian, DRAWN, drawn_votes())
    at = order(guardian)
    assert spent(guardian)["label"] == pytest.approx(
        epsilon(3 * randomized_rdp(2.0, 4, at), at, 1e-5), rel=1e-6
    )


@pytest.mark.heavy
def test_copies_of_records_among_teachers_change_nothing(guardian: Calls) -> None:
    for site in PARTIES:
        guardian.register(site, groups=[group("all", copies=4)], mixed=True)
    asked(guardian, DRAWN, drawn_votes())
    at = order(guardian)
    assert spent(guardian)["label"] == pytest.approx(epsilon(randomized_rdp(2.0, 4, at), at, 1e-5), rel=1e-6)


def test_records_are_asked_about_all_at_once(guardian: Calls) -> None:
    session = guardian.open(plan(mechanism=DRAWN, **BATCH, **LABEL)).session_id
    assert refusal(lambda: guardian.ticket(session, 1, 4)) == "message.invalid"


@pytest.mark.heavy
def test_any_sum_is_answered_and_costs_the_same(guardian: Calls) -> None:
    """Whatever is added to a sum, the labels in it were drawn before."""
    session = guardian.open(plan(mechanism=DRAWN, **BATCH, **LABEL)).session_id
    guardian.ticket(session, 1, 5)
    total = guardian.vote(session, 1, drawn_votes())
    offset = np.random.default_rng(0).integers(0, 2**64, total.shape, dtype=np.uint64)
    assert len(guardian.release(session, 1, total + offset)) == 5
    at = order(guardian)
    assert spent(guardian)["label"] == pytest.approx(epsilon(randomized_rdp(2.0, 4, at), at, 1e-5), rel=1e-6)


def test_a_dead_batch_costs_nothing_and_is_asked_again(guardian: Calls) -> None:
    session = guardian.open(plan(mechanism=DRAWN, **BATCH, **LABEL)).session_id
    guardian.ticket(session, 1, 5)
    assert not guardian.settle(session, 1).released
    assert spent(guardian)["label"] == 0
    guardian.ticket(session, 2, 5)
    assert len(guardian.release(session, 2, guardian.vote(session, 2, drawn_votes()))) == 5


@pytest.mark.heavy
def test_a_label_budget_that_is_missing_or_too_small_gives_no_labels(tmp_path: Path) -> None:
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all()
        assert refusal(lambda: guardian.open(plan(mechanism=DRAWN, **BATCH, **LABEL))) == "budget.missing"
        for site in PARTIES:
            guardian.budget(site, 1.5, **LABEL)
        session = guardian.open(plan(mechanism=DRAWN, **BATCH, **LABEL)).session_id
        assert refusal(lambda: guardian.ticket(session, 1, 5)) == "budget.too_small"
        assert spent(guardian) == {"record": 0, "label": 0}


@pytest.mark.parametrize("mechanism", [VOTED, GnMax(sigma=1)], ids=lambda m: m.kind)
def test_teachers_of_whole_records_give_no_labels_that_only_labels_pay_for(
    guardian: Calls, mechanism: Mechanism
) -> None:
    asked_for = plan(mechanism=mechanism, **LABEL)
    assert refusal(lambda: guardian.open(asked_for), "not all sites know") == "plan.invalid"
    share_features(guardian, "a", "b")
    assert refusal(lambda: guardian.open(asked_for), "party c") == "plan.invalid"
    share_features(guardian, "c")
    assert all(participant.shared_features for participant in guardian.open(asked_for).participants)


def test_teachers_of_shared_features_are_in_no_session_that_records_pay_for(guardian: Calls) -> None:
    share_features(guardian, "b")
    for asked_for in (plan(), plan(mechanism=GnMax(sigma=1))):
        assert refusal(lambda: guardian.open(asked_for), "whose features all sites know") == "plan.invalid"  # noqa: B023
    guardian.register("b")
    assert guardian.open(plan()).session_id


@pytest.mark.heavy
def test_votes_of_shared_features_cost_labels_as_they_would_cost_records(guardian: Calls) -> None:
    share_features(guardian)
    answers = asked(guardian, VOTED, unanimous(6))
    assert answers == [(True, 1)] * 6
    at = order(guardian)
    cost = VOTED.worst_case(at, classes=4).rdp(np.ones((6, 1), dtype=np.bool_))
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(cost, at, 1e-5), rel=1e-6)}


def label_sets(mechanism: Mechanism, queries: int) -> np.ndarray:
    """Ballots of all parties' teachers with random scores for four labels, (sites, queries, width)."""
    scores = np.random.default_rng(0).random((len(PARTIES), TEACHERS, queries, 4))
    return np.stack([mechanism.ballot.count(site, 4) for site in scores])


def answered_sets(guardian: Calls, mechanism: Mechanism, **changes: Any) -> np.ndarray:
    """Ask about six queries of four labels; which labels were answered, (6, 4)."""
    asked_for = plan(**{"mechanism": mechanism, "multi_label": True, "queries": 6, "batch_size": 6} | changes)
    session = guardian.open(asked_for).session_id
    guardian.ticket(session, 1, 6)
    answers = guardian.answers(session, 1, guardian.vote(session, 1, label_sets(mechanism, 6)))
    bits = [np.unpackbits(np.frombuffer(a.answered_labels, np.uint8), count=4) for a in answers]
    return np.array(bits, dtype=np.bool_)


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", SETS, ids=str)
def test_a_changed_set_of_labels_costs_what_a_changed_record_costs(
    guardian: Calls, mechanism: Mechanism
) -> None:
    share_features(guardian)
    answered = answered_sets(guardian, mechanism, **LABEL)
    at = order(guardian)
    cost = mechanism.worst_case(at, classes=4)
    labels = cost.rdp(answered)
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(labels, at, 1e-5), rel=1e-6)}
    for site in PARTIES:
        guardian.register(site)
    again = answered_sets(guardian, mechanism, nonce=b"m" * 16)
    of_records = order(guardian, "record")
    paid = mechanism.worst_case(of_records, classes=4).rdp(again)
    assert spent(guardian) == {
        "record": pytest.approx(epsilon(paid, of_records, 1e-5), rel=1e-6),
        "label": pytest.approx(epsilon(labels + cost.rdp(again), at, 1e-5), rel=1e-6),
    }


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [Binary(sigma=5.0), Powerset(sigma=2.0)], ids=str)
def test_labels_that_were_given_to_several_teachers_pay_for_the_votes_of_all(
    guardian: Calls, mechanism: Mechanism
) -> None:
    for site in PARTIES:
        guardian.register(site, shared_features=True, groups=[group("all", copies=4)], mixed=True)
    answered = answered_sets(guardian, mechanism, **LABEL)
    at = order(guardian)
    cost = mechanism.worst_case(at, 4.0, classes=4).rdp(answered)
    assert cost > mechanism.worst_case(at, classes=4).rdp(answered)
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(cost, at, 1e-5), rel=1e-6)}


@pytest.mark.heavy
def test_blind_tallies_charge_labels_alone(guardian: Calls) -> None:
    share_features(guardian)
    mechanism = Binary(sigma=3.0)
    asked_for = blind_plan(mechanism=mechanism, multi_label=True, **LABEL)
    asked_blindly(guardian, asked_for, label_sets(mechanism, 6).astype(np.int64)).answers()
    at = order(guardian)
    cost = mechanism.worst_case(at, classes=4).rdp(np.ones((6, 4), dtype=np.bool_))
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(cost, at, 1e-5), rel=1e-6)}


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", [Binary(sigma=1.0), Tau(sigma=1.0, tau=1.5)], ids=str)
def test_verified_ballots_of_labels_are_released_and_charge_labels_alone(
    guardian: Calls, mechanism: Mechanism
) -> None:
    share_features(guardian)
    batch = Batch(guardian, verified(multi_label=True, mechanism=mechanism, **LABEL))
    batch.vote()
    assert batch.verify() == []
    assert list(guardian.prepare(batch.session, 1).frozen) == list(PARTIES)
    assert len(batch.release(PARTIES)) == SIZE
    at = order(guardian)
    cost = mechanism.worst_case(at, classes=4).rdp(np.ones((SIZE, 4), dtype=np.bool_))
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(cost, at, 1e-5), rel=1e-6)}


@pytest.mark.parametrize("mechanism", [SETS[0], SETS[2], SETS[4]], ids=str)
def test_sets_of_labels_are_voted_on_by_teachers_that_protect_what_is_charged(
    guardian: Calls, mechanism: Mechanism
) -> None:
    several = {"mechanism": mechanism, "multi_label": True}
    assert refusal(lambda: guardian.open(plan(**several, **LABEL)), "not all sites know") == "plan.invalid"
    share_features(guardian)
    assert refusal(lambda: guardian.open(plan(**several)), "whose features all sites know") == "plan.invalid"


@pytest.mark.heavy
def test_a_record_charge_debits_labels_too_and_never_the_converse(guardian: Calls) -> None:
    session = guardian.open(plan(queries=6, batch_size=6)).session_id
    guardian.ticket(session, 1, 6)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(6)))
    both = spent(guardian)
    assert both["record"] > 0
    assert both["label"] > 0
    asked(guardian, DRAWN, drawn_votes(), nonce=b"m" * 16)
    assert spent(guardian)["record"] == both["record"]
    assert spent(guardian)["label"] > both["label"]


@pytest.mark.heavy
def test_a_spent_record_budget_does_not_stop_labels_nor_pay_for_them(tmp_path: Path) -> None:
    with Federation(tmp_path).guardian() as guardian:
        guardian.prepare_all(epsilon=0.02)
        for site in PARTIES:
            guardian.budget(site, 100.0, **LABEL)
        session = guardian.open(plan(queries=6, batch_size=6)).session_id
        assert refusal(lambda: guardian.ticket(session, 1, 6)) == "budget.too_small"
        asked(guardian, DRAWN, drawn_votes(), nonce=b"m" * 16)
        assert spent(guardian)["record"] == 0


@pytest.mark.heavy
@pytest.mark.parametrize("turned", [True, False])
def test_teachers_that_learn_otherwise_meanwhile_vote_on_no_batch(guardian: Calls, turned: bool) -> None:
    if not turned:
        share_features(guardian)
    session = guardian.open(plan(adjacency="record" if turned else "label", mechanism=VOTED)).session_id
    guardian.register("a", shared_features=turned)
    assert "a" not in voters(guardian.ticket(session, 1, 5))
    assert spent(guardian) == {"record": 0, "label": 0}


@pytest.mark.heavy
@pytest.mark.parametrize("shared", [True, False])
def test_records_that_vote_need_no_teachers(guardian: Calls, shared: bool) -> None:
    for site in PARTIES:
        guardian.register(site, shared_features=shared)
    assert len(asked(guardian, DRAWN, drawn_votes())) == 5
    clusters = NoiseCluster(sigma=2)
    assert guardian.open(plan(mechanism=clusters, **BATCH, **LABEL, nonce=b"c" * 16)).session_id


def test_teachers_that_learned_with_others_learned_not_from_their_labels_alone(guardian: Calls) -> None:
    code = refusal(lambda: guardian.register("a", shared_features=True, together="dp-ttac"))
    assert code == "manifest.invalid"


@pytest.mark.heavy
def test_what_labels_spent_is_known_at_a_larger_order_and_to_labels_alone(guardian: Calls) -> None:
    guardian.register("a", max_votes_per_person=2)
    asked(guardian, DRAWN, drawn_votes())
    for adjacency, expected in (("label", 2 * randomized_rdp(2.0, 4, 90.0)), ("record", 0.0)):
        low = guardian.budget("a", 4.5, group="low", order=90.0, adjacency=adjacency)
        found = epsilon(expected, 90.0, 1e-5) if expected else 0
        assert low.epsilon_worst_case == pytest.approx(found, rel=1e-6)


@pytest.mark.parametrize("lost", [DRAWN, Tau(sigma=4.0, tau=1.4)], ids=lambda m: m.kind)
def test_receipts_of_labels_charge_labels_alone(tmp_path: Path, lost: Mechanism) -> None:
    federation = Federation(tmp_path)
    with federation.guardian() as guardian:
        guardian.prepare_all()
        guardian.budget("a", 100.0, **LABEL)
        lose(guardian, federation)
        kept = receipt(lost, adjacency="label", queries=700, sensitivity=3.0)
        assert guardian.reconcile("a", [kept]).charged == 1
        at = order(guardian)
        cost = lost.worst_case(at, 3.0, classes=4).reservation(700, lost.answers(4)) * AMOUNT_UNIT
        assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(cost, at, 1e-5))}


@pytest.mark.heavy
def test_receipts_of_labels_are_no_spending_of_a_new_group_of_records(tmp_path: Path) -> None:
    federation = Federation(tmp_path)
    with federation.guardian() as guardian:
        for site in PARTIES:
            guardian.register(site)
            guardian.budget(site, 100.0, order=10.0)
            guardian.budget(site, 5000.0, order=100.0, **LABEL)
        lose(guardian, federation)
        guardian.reconcile("a", [receipt(DRAWN, adjacency="label", queries=7, sensitivity=3.0)])
        for site in "bc":
            guardian.register(site)
            guardian.reconcile(site, [])
        session = guardian.open(plan(queries=6, batch_size=6)).session_id
        guardian.ticket(session, 1, 6)
        guardian.release(session, 1, guardian.vote(session, 1, unanimous(6)))
        cost = VOTED.worst_case(90.0, classes=4).rdp(np.ones((6, 1), dtype=np.bool_))
        low = guardian.budget("a", 50.0, group="low", order=90.0)
        assert low.epsilon_worst_case == pytest.approx(epsilon(cost, 90.0, 1e-5), rel=1e-6)


@pytest.mark.heavy
def test_a_new_label_budget_adds_labels_alone_to_what_its_records_spent(guardian: Calls) -> None:
    """Its records were in another group when their labels were drawn."""
    at = order(guardian)
    asked(guardian, DRAWN, drawn_votes())
    guardian.register("a", groups=[group("new")])
    guardian.budget("a", 1000.0, group="new", order=at)
    session = guardian.open(plan(queries=6, batch_size=6)).session_id
    guardian.ticket(session, 1, 6)
    guardian.release(session, 1, guardian.vote(session, 1, unanimous(6)))
    labels = guardian.budget("a", 1000.0, group="new", order=at, **LABEL)
    cost = VOTED.worst_case(at, classes=4).rdp(np.ones((6, 1), dtype=np.bool_))
    both = cost + randomized_rdp(2.0, 4, at)
    assert labels.epsilon_worst_case == pytest.approx(epsilon(both, at, 1e-5), rel=1e-6)


@pytest.mark.heavy
def test_checks_of_label_dp_are_charged_where_they_fail(guardian: Calls) -> None:
    """Section 4.2.2 of Tang et al. 2022 charges answered queries alone."""
    share_features(guardian)
    never = Confident(sigma1=2.0, sigma2=1.0, threshold=500.0)
    assert asked(guardian, never, unanimous(6)) == [(False, 0)] * 6
    at = order(guardian)
    check = never.worst_case(at, classes=4).check
    assert spent(guardian) == {"record": 0, "label": pytest.approx(epsilon(6 * check, at, 1e-5), rel=1e-6)}


SEVERAL = RandResLabels(epsilon=2.0)
OF_LABELS = LABEL | {"multi_label": True, "classes": 3}


def label_votes() -> np.ndarray:
    """Noes, then yeses, (sites, queries, 6) of records that hold a query; nobody holds the last."""
    votes = np.zeros((len(PARTIES), 3, 6), dtype=np.int64)
    votes[:, 0] = [[1, 0, 0, 0, 1, 0], [1, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0]]
    votes[0, 1, [2, 3]] = 1
    return votes


def test_of_each_label_what_more_records_say_is_released_and_charged_to_labels_together(
    guardian: Calls,
) -> None:
    session = guardian.open(plan(mechanism=SEVERAL, queries=3, batch_size=3, **OF_LABELS)).session_id
    guardian.ticket(session, 1, 3)
    answers = guardian.answers(session, 1, guardian.vote(session, 1, label_votes()))
    given = [(one.answered, one.answered_labels.hex(), one.positive_labels.hex()) for one in answers]
    assert given == [(True, "e0", "60"), (True, "a0", "80"), (False, "00", "00")]
    at = order(guardian)
    once = epsilon(randomized_rdp(2.0, 2 ** SEVERAL.drawn(3), at), at, 1e-5)
    assert spent(guardian) == {"record": 0, "label": pytest.approx(once, rel=1e-6)}


def test_a_party_that_leaves_labels_out_is_no_part_of_a_draw_of_them(guardian: Calls) -> None:
    guardian.register("b", abstains=[1])
    asked_for = plan(mechanism=SEVERAL, queries=3, batch_size=3, **OF_LABELS)
    assert refusal(lambda: guardian.open(asked_for), "needs its votes on all of them") == "plan.invalid"
