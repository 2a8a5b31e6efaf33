"""What a party's records answer over the wire where labels alone are secret."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset, digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import GnMax, Mechanism, NoiseCluster, RandRes
from ostraka.common.privacy import amount
from ostraka.common.privacy.worst_case import randomized_rdp
from ostraka.protos.ostraka.v1 import common_pb2, party_pb2
from ostraka.services.hosting.records import Records
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble
from ostraka.services.voting.voting import Content
from tests.privacy.evidence import agrees
from tests.services.holding import holding
from tests.services.wire import Ask, Caller, Federation, participant, scheduled

CERTAIN = RandRes(epsilon=60.0)
CLUSTERS = NoiseCluster(sigma=20.0)


@dataclass
class Told(Ask):
    """A batch of records that are told by their clusters."""

    clusters: tuple[int, ...] = ()

    def messages(self) -> Iterator[party_pb2.VoteRequest]:
        features = self.features.astype("<f4").tobytes()
        data = features + np.array(self.clusters, dtype="<i4").tobytes()
        plain = Ask(self.features, self.plan, self.grant, self.ticket, rows=self.rows, data=data)
        first, *chunks = plain.messages()
        first.header.members = len(self.features)
        yield first
        yield from chunks


def known(federation: Federation, mechanism: Mechanism, queries: int, **policy: object) -> Dataset:
    """Has athens answer with its records in a plan that charges labels; gives these records."""
    federation.set_policy(**policy)
    federation.set_table("training", data="records.npz")
    save(digits(), federation.party / "records.npz")
    federation.replan(mechanism=mechanism, queries=queries, batch_size=queries, adjacency="label")
    return digits()


def drawing(federation: Federation, mechanism: RandRes, queries: int) -> Dataset:
    return known(federation, mechanism, queries, randomized_labels=True)


def told(caller: Caller, X: NDArray[np.float32], clusters: tuple[int, ...], count: int) -> Told:
    plan, ticket = caller.federation.plan.serialize(), caller.ticket(1, count)
    return Told(X, plan, caller.grant(), ticket, rows=count, clusters=clusters)


@contextmanager
def refused(code: ErrorCode, told: str | None = None) -> Iterator[None]:
    with pytest.raises(OstrakaError, match=told) as caught:
        yield
    assert caught.value.code is code


def spent(federation: Federation, order: float) -> int:
    with Journal(federation.party / "journal.db") as journal:
        return journal.amount_spent(order)


def test_a_record_answers_once_with_its_label_and_strangers_get_no_vote(attica: Federation) -> None:
    """With an epsilon so large that every label is true."""
    data = drawing(attica, CERTAIN, 6)
    X = attica.task.prepare(data.X[[5, 700, 5, 12, 12, 1]])
    X[5] = 1 - X[5]
    with attica.serving() as caller:
        found = caller.ballots(caller.vote(caller.ask(X)))
    y = data.labels()
    expected = np.zeros((6, 10))
    for query, record in ((0, 5), (1, 700), (3, 12)):
        expected[query, y[record]] = 1
    assert np.array_equal(found, expected)


def test_labels_are_drawn_as_often_as_equation_6_says(attica: Federation) -> None:
    mechanism = RandRes(epsilon=2.0)
    data = drawing(attica, mechanism, 1797)
    with attica.serving() as caller:
        found = caller.ballots(caller.vote(caller.ask(attica.task.prepare(data.X))))
    assert np.array_equal(found.sum(axis=1), np.ones(1797))
    true = int(found[np.arange(1797), data.labels()].sum())
    chances = np.array([mechanism.truth(10), 1 - mechanism.truth(10)])
    assert agrees(np.array([true, 1797 - true]), chances)


def test_a_batch_costs_the_same_whatever_it_asks(attica: Federation) -> None:
    mechanism = RandRes(epsilon=2.0)
    data = drawing(attica, mechanism, 1000)
    with attica.serving() as caller:
        caller.vote(caller.ask(attica.task.prepare(data.X[:1000])))
    assert spent(attica, 8.0) == amount(randomized_rdp(2.0, 10, 8.0))


def test_labels_of_one_person_cost_as_often_as_it_has_records(attica: Federation) -> None:
    attica.set_table("party", max_votes_per_person=3)
    mechanism = RandRes(epsilon=2.0)
    data = drawing(attica, mechanism, 10)
    people = participant("athens")
    people.max_votes_per_person = 3
    with attica.serving() as caller:
        everyone = [people, participant("sparta"), participant("thebes")]
        caller.vote(voted(caller, attica.task.prepare(data.X[:10]), everyone))
    assert spent(attica, 8.0) == amount(3 * randomized_rdp(2.0, 10, 8.0))


def test_a_grant_that_counts_fewer_records_of_a_person_is_refused(attica: Federation) -> None:
    attica.set_table("party", max_votes_per_person=3)
    data = drawing(attica, RandRes(epsilon=2.0), 10)
    with attica.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(attica.task.prepare(data.X[:10])))
    assert refused.value.code is ErrorCode.TICKET_INVALID
    assert "counts 1 votes a person and this party 3" in refused.value.message


def test_the_same_batch_again_gets_the_same_draws_and_another_gets_its_own(attica: Federation) -> None:
    data = drawing(attica, RandRes(epsilon=0.5), 500)
    X = attica.task.prepare(data.X[:500])
    with attica.serving() as caller:
        first = caller.vote(caller.ask(X))
        assert caller.vote(caller.ask(X)) == first
        once = spent(attica, 8.0)
        second = caller.vote(caller.ask(X, batch_id=2))
        ballots = caller.ballots(first), caller.ballots(second, 2)
    assert not np.array_equal(*ballots)
    assert spent(attica, 8.0) == 2 * once


def test_a_cap_counts_every_batch_that_was_answered(attica: Federation) -> None:
    attica.set_policy(randomized_labels=True, epsilon_cap=2.0, delta=1e-5, order_cap=64.0)
    attica.set_table("training", data="records.npz")
    save(digits(), attica.party / "records.npz")
    attica.replan(mechanism=RandRes(epsilon=1.0), queries=5, batch_size=5, adjacency="label")
    X = attica.task.prepare(digits().X[:5])
    with attica.serving() as caller:
        caller.vote(caller.ask(X))
        with refused(ErrorCode.PARTY_CAP_REACHED):
            caller.vote(caller.ask(X, batch_id=2))
        assert len(attica.guardian.submissions) == 1


def test_labels_are_not_given_away_unless_the_policy_says_so(attica: Federation) -> None:
    data = known(attica, CERTAIN, 3, label_counts="label")
    with attica.serving() as caller, refused(ErrorCode.POLICY_REFUSED):
        caller.vote(caller.ask(attica.task.prepare(data.X[:3])))
    assert not attica.guardian.submissions


def test_records_whose_features_are_secret_are_not_counted_where_labels_alone_are_charged(
    attica: Federation,
) -> None:
    data = known(attica, CLUSTERS, 3, label_counts="record")
    with attica.serving() as caller, refused(ErrorCode.POLICY_REFUSED):
        caller.vote(caller.ask(attica.task.prepare(data.X[:3])))
    assert not attica.guardian.submissions


def test_a_policy_that_names_draws_without_allowing_them_is_refused(attica: Federation) -> None:
    attica.set_policy(mechanisms=["rand_res"])
    with refused(ErrorCode.CONFIG_INVALID, "randomized_labels = true"), attica.serving():
        pass


def test_records_that_are_told_count_in_their_cluster(attica: Federation) -> None:
    data = known(attica, CLUSTERS, 3, label_counts="label")
    members = [4, 9, 9, 30, 31, 500]
    X, clusters = attica.task.prepare(data.X[members]), (0, 2, 1, 2, 0, 0)
    X[5] = 0.5
    with attica.serving() as caller:
        found = caller.ballots(caller.vote(told(caller, X, clusters, 3)))
    expected = np.zeros((3, 10))
    for record, cluster in zip(members[:2] + members[3:5], (0, 2, 2, 0), strict=True):
        expected[cluster, data.labels()[record]] += 1
    assert np.array_equal(found, expected)
    assert spent(attica, 8.0) == amount(NoiseCluster(sigma=20.0).worst_case(8.0, classes=10).batch)


def test_another_reading_of_the_same_bytes_is_another_request(attica: Federation) -> None:
    """64 rows of 65 numbers are 65 rows of 64."""
    known(attica, CLUSTERS, 65, label_counts="label")
    with attica.serving() as caller:
        ask = told(caller, np.zeros((64, 64), np.float32), (0,) * 64, 65)
        caller.vote(ask)
        plain = Ask(np.zeros((65, 64), np.float32), ask.plan, ask.grant, ask.ticket)
        with refused(ErrorCode.BATCH_ALTERED):
            caller.vote(plain)


@pytest.mark.parametrize("cluster", [-1, 3])
def test_a_cluster_that_is_none_is_refused(attica: Federation, cluster: int) -> None:
    data = known(attica, CLUSTERS, 3, label_counts="label")
    with attica.serving() as caller, refused(ErrorCode.MESSAGE_INVALID):
        caller.vote(told(caller, attica.task.prepare(data.X[:2]), (0, cluster), 3))
    assert spent(attica, 8.0) == 0


def test_records_are_told_only_where_labels_alone_are_charged(attica: Federation) -> None:
    """Another record could move all that are like it to other clusters."""
    data = known(attica, CLUSTERS, 3, label_counts="label")
    attica.replan(adjacency="record")
    with attica.serving() as caller, refused(ErrorCode.PLAN_INVALID, "with adjacency label"):
        caller.vote(told(caller, attica.task.prepare(data.X[:2]), (0, 1), 3))


def test_other_mechanisms_are_told_no_clusters(attica: Federation) -> None:
    data = drawing(attica, CERTAIN, 3)
    with attica.serving() as caller, refused(ErrorCode.PLAN_INVALID, "Only noise_cluster"):
        caller.vote(told(caller, attica.task.prepare(data.X[:2]), (0, 1), 3))


@pytest.mark.parametrize(("limit", "most"), [("MAX_MEMBERS", 1), ("MAX_MEMBER_VALUES", 2 * 64 - 1)])
def test_no_more_records_are_told_than_are_taken(
    attica: Federation, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    monkeypatch.setattr(f"ostraka.services.admission.request_checks.{limit}", most)
    data = known(attica, CLUSTERS, 3, label_counts="label")
    with attica.serving() as caller, refused(ErrorCode.MESSAGE_TOO_LARGE):
        caller.vote(told(caller, attica.task.prepare(data.X[:2]), (0, 1), 3))


ROWS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12)


@pytest.mark.heavy
@given(records=ROWS, members=ROWS, place=st.integers(0, 11), label=st.integers(0, 3))
def test_one_label_moves_one_count_of_one_cluster(
    records: list[tuple[int, int]], members: list[tuple[int, int]], place: int, label: int
) -> None:
    """`members` are features and clusters, `records` features and labels."""
    told, own = np.array(members), np.array(records)
    X, clusters = told[:, :1].astype(np.float32), told[:, 1].astype(np.int32)
    y = own[:, 1].copy()

    def counted() -> NDArray[np.float64]:
        cohorts, everywhere = np.zeros(len(own), np.int64), np.ones((1, 4), np.bool_)
        return holding(own[:, :1].astype(np.float32), y, cohorts, 4).members(X, clusters, everywhere)

    before = counted()
    y[place % len(own)] = label
    moved = counted() - before
    assert sorted(moved[moved != 0]) in ([], [-1, 1])
    assert len(set(np.nonzero(moved)[0])) <= 1


def test_records_are_taken_in_an_order_of_chance(attica: Federation) -> None:
    save(digits(), attica.party / "records.npz")
    manifest = Ensemble.load(attica.party / "teachers").manifest
    file = attica.party / "records.npz"
    one, other = (Records.of(attica.task.load(file), file, attica.task, manifest) for _ in range(2))
    assert not np.array_equal(one.y, other.y)
    for records in (one, other):
        places = records._known.find(attica.task.prepare(digits().X))
        assert np.array_equal(records.y[places], digits().labels())


def test_nothing_of_records_or_requests_is_shown() -> None:
    records = holding(np.ones((2, 1), np.float32), np.array([7, 7]), np.zeros(2, np.int64), 10)
    assert repr(records) == "Records(classes=10)"
    assert repr(Content(b"secret", 3)) == "Content(members=3)"


def test_teachers_of_shared_features_vote_where_labels_are_charged(attica: Federation) -> None:
    share_features(attica)
    X = attica.task.prepare(digits().X[:4])
    with attica.serving() as caller:
        everyone = [sharing(participant(site)) for site in attica.plan.parties]
        with refused(ErrorCode.PLAN_INVALID, "whose features all sites know"):
            caller.vote(voted(caller, X, everyone))
        attica.replan(adjacency="label")
        with refused(ErrorCode.TICKET_INVALID):
            caller.vote(voted(caller, X, [participant(site) for site in attica.plan.parties]))
        caller.vote(voted(caller, X, everyone))
    assert [charge.adjacency for charge in charges(attica)] == ["label"]
    assert attica.guardian.manifests


def test_teachers_of_whole_records_do_not_vote_where_labels_are_charged(attica: Federation) -> None:
    attica.replan(adjacency="label", mechanism=GnMax(sigma=40.0))
    X = attica.task.prepare(digits().X[:4])
    with attica.serving() as caller, refused(ErrorCode.PLAN_INVALID, "whose features not all sites know"):
        caller.vote(caller.ask(X))
    assert not charges(attica)


def charges(federation: Federation) -> list[GroupCharge]:
    with Journal(federation.party / "journal.db") as journal:
        return [charge for _, _, charge in journal.receipts()]


def share_features(federation: Federation) -> None:
    """Write into athens's manifest that its teachers learned from features that all sites know."""
    path = federation.party / "teachers" / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"shared_features": True}))


def sharing(who: common_pb2.Participant) -> common_pb2.Participant:
    who.shared_features = True
    return who


def voted(caller: Caller, X: NDArray[np.float32], everyone: list[common_pb2.Participant]) -> Ask:
    ask = caller.ask(X)
    ask.grant = caller.grant(participants=everyone)
    ask.ticket = caller.ticket(1, len(X), schedule=[scheduled(who) for who in everyone])
    return ask
