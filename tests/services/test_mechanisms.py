"""What a party answers to each mechanism's plan, over the wire."""

from collections.abc import Iterable

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import (
    L1,
    Binary,
    Check,
    Confident,
    GnMax,
    Interactive,
    LnMax,
    Mechanism,
    NoiseCluster,
    Powerset,
    Tau,
)
from ostraka.common.privacy import amount
from ostraka.common.sharing.label_sets import bits_of, count_sets
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble
from ostraka.services.teachers.guard import Votes
from tests.services.conftest import symptoms
from tests.services.holding import holding
from tests.services.wire import TEACHERS, Caller, Federation, participant, scheduled

CHECK = Check(sigma=5.0, threshold=2.0)
SINGLE = (
    GnMax(sigma=5.0),
    Confident(sigma1=5.0, sigma2=5.0, threshold=2.0),
    Interactive(sigma1=5.0, sigma2=5.0, threshold=2.0, confidence=0.9),
    LnMax(gamma=0.1),
)
CLUSTERS = NoiseCluster(sigma=20.0)


def scores(federation: Federation, X: NDArray[np.float32]) -> Votes:
    return Ensemble.load(federation.party / "teachers").predict(X)


def ballots(federation: Federation, X: NDArray[np.float32]) -> NDArray[np.float64]:
    with federation.serving() as caller:
        return caller.ballots(caller.vote(caller.ask(X)))


def refusal(caller: Caller, X: NDArray[np.float32]) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(X))
    assert not caller.federation.guardian.submissions
    return refused.value


def start_failure(federation: Federation) -> OstrakaError:
    with pytest.raises(OstrakaError) as refused, federation.serving():
        pass
    return refused.value


def spent(federation: Federation, order: float) -> int:
    with Journal(federation.party / "journal.db") as journal:
        return journal.amount_spent(order)


@pytest.fixture
def asked(clinics: Federation) -> NDArray[np.float32]:
    return clinics.task.prepare(symptoms(40, seed=7).X)


@pytest.mark.parametrize("mechanism", SINGLE, ids=lambda mechanism: mechanism.kind)
def test_a_single_label_ballot_counts_classes(attica: Federation, mechanism: Mechanism) -> None:
    attica.replan(mechanism=mechanism)
    X = attica.task.prepare(digits().X[:9])
    votes = Ensemble.load(attica.party / "teachers").predict(X)
    expected = [[(votes[:, query] == label).sum() for label in range(10)] for query in range(9)]
    assert np.array_equal(ballots(attica, X), expected)
    assert spent(attica, 8.0) == GroupCharge(mechanism, 9, 10).amount(8.0)


def weighed(federation: Federation, X: NDArray[np.float32], weights: Iterable[float]) -> NDArray[np.float64]:
    """Each teacher's bits on each query, weighed by how many they are, in whole steps of 2^-16."""
    by_count = [int(weight * 65536) / 65536 for weight in weights]
    bits = scores(federation, X) >= 0.5
    total = np.zeros(bits.shape[1:])
    for teacher in bits:
        for query, row in enumerate(teacher):
            total[query] += row * by_count[row.sum()]
    return total


@pytest.mark.heavy
@pytest.mark.parametrize("check", [None, CHECK])
def test_a_binary_ballot_counts_positives(
    clinics: Federation, asked: NDArray[np.float32], check: Check | None
) -> None:
    clinics.replan(mechanism=Binary(sigma=5.0, check=check))
    found = ballots(clinics, asked)
    assert np.array_equal(found, weighed(clinics, asked, [1] * 6))
    assert not found[:, 1].any()
    assert (found[:, 2] == TEACHERS).all()
    assert spent(clinics, 8.0) == GroupCharge(clinics.plan.mechanism, 40, 5).amount(8.0)


@pytest.mark.heavy
def test_a_clipped_ballot_is_scaled_exactly(clinics: Federation, asked: NDArray[np.float32]) -> None:
    clinics.replan(mechanism=Tau(sigma=5.0, tau=1.3, check=CHECK))
    weights = [1, 1, *(1.3 / np.sqrt(count) for count in range(2, 6))]
    expected = weighed(clinics, asked, weights)
    assert np.array_equal(ballots(clinics, asked), expected)
    assert (expected != np.trunc(expected)).any()


@pytest.mark.heavy
def test_an_l1_ballot_is_scaled_exactly(clinics: Federation, asked: NDArray[np.float32]) -> None:
    clinics.replan(mechanism=L1(sigma=5.0, tau1=1.7))
    expected = weighed(clinics, asked, [1, 1, *(1.7 / count for count in range(2, 6))])
    assert np.array_equal(ballots(clinics, asked), expected)


@pytest.mark.heavy
@pytest.mark.parametrize("most", [None, 2])
def test_a_powerset_ballot_counts_label_sets(
    clinics: Federation, asked: NDArray[np.float32], most: int | None
) -> None:
    clinics.replan(mechanism=Powerset(sigma=5.0, max_positives=most))
    sets = bits_of(np.arange(count_sets(5, most)), 5)
    expected = np.zeros((40, len(sets)))
    for teacher in scores(clinics, asked):
        for query, row in enumerate(teacher):
            ranked = sorted((label for label in range(5) if row[label] >= 0.5), key=lambda at: -row[at])
            kept = np.isin(np.arange(5), ranked[: most or 5])
            expected[query, (sets == kept).all(axis=1)] += 1
    assert np.array_equal(ballots(clinics, asked), expected)


def test_a_plan_of_label_sets_is_refused_for_single_labels(attica: Federation) -> None:
    attica.replan(mechanism=Binary(sigma=5.0), multi_label=True)
    with attica.serving() as caller:
        assert refusal(caller, attica.task.prepare(digits().X[:3])).code is ErrorCode.TASK_MISMATCH


@pytest.mark.heavy
def test_a_plan_of_single_labels_is_refused_for_label_sets(
    clinics: Federation, asked: NDArray[np.float32]
) -> None:
    clinics.replan(mechanism=GnMax(sigma=5.0), multi_label=False)
    with clinics.serving() as caller:
        error = refusal(caller, asked)
    assert error.code is ErrorCode.TASK_MISMATCH
    assert "multi_label" in error.message


def counting(attica: Federation, records: int = 1797, clusters: int = 7) -> NDArray[np.float32]:
    """Has athens count its records; gives centres of which two are the same."""
    attica.set_policy(label_counts="record")
    attica.set_table("training", data="records.npz")
    save(digits().take(slice(0, records)), attica.party / "records.npz")
    attica.replan(mechanism=CLUSTERS, queries=clusters, batch_size=clusters)
    X = attica.task.prepare(digits().X[:clusters])
    X[3] = X[0]
    return X


def counted(attica: Federation, centres: NDArray[np.float32]) -> NDArray[np.int64]:
    """Count records by nearest centre and class; digits are in sixteenths, so distances are exact."""
    counts = np.zeros((len(centres), 10), np.int64)
    for x, y in zip(attica.task.prepare(digits().X), digits().labels(), strict=True):
        counts[((centres - x) ** 2).sum(axis=1).argmin(), y] += 1
    return counts


def test_records_count_once_at_their_nearest_centre(
    attica: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ostraka.services.hosting.records.WORK_BYTES", 100 * 7 * 8)
    centres = counting(attica)
    found = ballots(attica, centres)
    assert np.array_equal(found, counted(attica, centres))
    assert found.sum() == 1797
    assert not found[3].any()
    assert spent(attica, 8.0) == amount(NoiseCluster(sigma=20.0).worst_case(8.0, classes=10).batch)


def test_clusters_that_are_not_scheduled_keep_their_records(attica: Federation) -> None:
    centres, votes = counting(attica), np.array([1, 0, 1, 1, 0, 1, 0], np.bool_)
    schedule = scheduled(participant("athens"), np.packbits(votes).tobytes())
    with attica.serving() as caller:
        ask = caller.ask(centres)
        ask.ticket = caller.ticket(1, 7, schedule=[schedule])
        found = caller.ballots(caller.vote(ask))
    assert np.array_equal(found, counted(attica, centres) * votes[:, None])


def test_one_record_moves_from_one_cell_to_another() -> None:
    random = np.random.default_rng(0)
    centres, X = random.random((5, 3), np.float32), random.random((40, 3), np.float32)
    y = random.integers(0, 4, 40)
    everywhere, cohorts = np.ones((1, 5), np.bool_), np.zeros(40, np.int64)
    before = holding(X, y, cohorts, 4).nearest(centres, everywhere)
    X[17], y[17] = 1 - X[17], (y[17] + 1) % 4
    moved = holding(X, y, cohorts, 4).nearest(centres, everywhere) - before
    assert sorted(moved[moved != 0]) == [-1, 1]


def test_records_count_where_their_cohort_votes() -> None:
    random = np.random.default_rng(0)
    centres, X = random.random((5, 3), np.float32), random.random((40, 3), np.float32)
    y, cohorts = random.integers(0, 4, 40), random.integers(0, 2, 40)
    votes = random.random((2, 5)) < 0.5
    found = holding(X, y, cohorts, 4).nearest(centres, votes)
    everywhere = np.ones((1, 5), np.bool_)
    for cohort in range(2):
        own = cohorts == cohort
        alone = holding(X[own], y[own], np.zeros(own.sum(), np.int64), 4).nearest(centres, everywhere)
        found -= alone * votes[cohort][:, None]
    assert not found.any()


def test_records_are_not_counted_unless_the_policy_says_so(attica: Federation) -> None:
    attica.replan(mechanism=CLUSTERS, queries=7, batch_size=7)
    with attica.serving() as caller:
        error = refusal(caller, attica.task.prepare(digits().X[:7]))
    assert error.code is ErrorCode.POLICY_REFUSED
    assert "label_counts" in error.message


def test_counting_needs_the_records_that_were_registered(attica: Federation) -> None:
    attica.set_policy(label_counts="record")
    assert start_failure(attica).code is ErrorCode.DATA_MISSING
    attica.set_table("training", data="records.npz")
    save(digits().take(slice(0, 100)), attica.party / "records.npz")
    error = start_failure(attica)
    assert error.code is ErrorCode.CONFIG_INVALID
    assert "100 records" in error.message
    assert "1797" in error.message


@pytest.mark.heavy
def test_label_sets_are_not_counted_by_cluster(clinics: Federation) -> None:
    clinics.set_policy(label_counts="record")
    clinics.set_table("training", data="records.npz")
    save(symptoms(150), clinics.party / "records.npz")
    error = start_failure(clinics)
    assert (error.code, "label_counts" in error.message) == (ErrorCode.CONFIG_INVALID, True)


def test_only_the_mechanisms_of_the_policy_are_answered(attica: Federation) -> None:
    attica.set_policy(mechanisms=["confident", "lnmax"])
    X = attica.task.prepare(digits().X[:3])
    with attica.serving() as caller:
        error = refusal(caller, X)
        assert error.code is ErrorCode.POLICY_REFUSED
        assert "confident, lnmax" in error.message
        attica.replan(mechanism=LnMax(gamma=0.1))
        caller.vote(caller.ask(X))


@pytest.mark.parametrize("named", ["noise_cluster", "plurality"])
def test_a_policy_that_cannot_be_kept_is_refused(attica: Federation, named: str) -> None:
    attica.set_policy(mechanisms=[named])
    error = start_failure(attica)
    assert error.code is ErrorCode.CONFIG_INVALID
    assert named in error.message
