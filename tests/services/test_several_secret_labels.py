"""What a party's records answer over the wire where each has several labels, and these alone are secret."""

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset, digits, save
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import Mechanism, RandResLabels
from ostraka.common.privacy import amount
from ostraka.services.journal.journal import Journal
from tests.privacy.evidence import agrees
from tests.services.conftest import symptoms
from tests.services.wire import Federation

CERTAIN = RandResLabels(epsilon=400.0)
MODERATE = RandResLabels(epsilon=2.0)
RECORDS = 150


def drawing(federation: Federation, mechanism: Mechanism, queries: int, **changes: object) -> Dataset:
    """Has athens answer with its records' labels; gives these records."""
    federation.set_policy(randomized_labels=True)
    federation.set_table("training", data="records.npz")
    save(symptoms(RECORDS), federation.party / "records.npz")
    asked = {"mechanism": mechanism, "queries": queries, "batch_size": queries, "adjacency": "label"}
    federation.replan(**asked | changes)
    return symptoms(RECORDS)


def answers(federation: Federation, X: NDArray[np.float32], labels: int = 5) -> NDArray[np.float64]:
    """Return what both shares add up to: of every query noes and yeses, (queries, 2, labels)."""
    with federation.serving() as caller:
        return caller.ballots(caller.vote(caller.ask(X))).reshape(len(X), 2, labels)


def spent(federation: Federation, order: float) -> int:
    with Journal(federation.party / "journal.db") as journal:
        return journal.amount_spent(order)


def test_a_record_answers_once_with_its_labels_and_strangers_do_not(clinics: Federation) -> None:
    """With an epsilon so large that every label is drawn and true."""
    data = drawing(clinics, CERTAIN, 5)
    X = clinics.task.prepare(data.X[[5, 70, 5, 12, 1]])
    X[4] = 1 - X[4]
    found = answers(clinics, X)
    y, expected = data.labels(), np.zeros((5, 2, 5))
    for query, record in ((0, 5), (1, 70), (3, 12)):
        expected[query] = [1 - y[record], y[record]]
    assert np.array_equal(found, expected)


def test_as_many_labels_of_every_record_are_answered_as_are_drawn_and_true_as_often(
    clinics: Federation,
) -> None:
    data = drawing(clinics, MODERATE, RECORDS)
    found = answers(clinics, clinics.task.prepare(data.X))
    drawn = MODERATE.drawn(5)
    assert set(np.unique(found)) == {0.0, 1.0}
    assert (found.sum(axis=1) <= 1).all()
    assert (found.sum(axis=(1, 2)) == drawn).all()
    answered = found.sum(axis=1) == 1
    true = int((found[:, 1] == data.labels())[answered].sum())
    wrong = MODERATE.known_error(1, 5)
    assert agrees(np.array([true, drawn * RECORDS - true]), np.array([1 - wrong, wrong]))


def test_labels_that_are_chosen_alone_are_answered(clinics: Federation) -> None:
    data = drawing(clinics, CERTAIN, 9, labels=(0, 4), classes=2)
    found = answers(clinics, clinics.task.prepare(data.X[:9]), labels=2)
    y = data.labels()[:9, [0, 4]]
    assert np.array_equal(found, np.stack([1 - y, y], axis=1))
    assert spent(clinics, 8.0) == amount(CERTAIN.worst_case(8.0, classes=2).batch)


def test_a_batch_costs_all_labels_together_once_whatever_it_asks(clinics: Federation) -> None:
    data = drawing(clinics, MODERATE, 100)
    answers(clinics, clinics.task.prepare(data.X[:100]))
    assert spent(clinics, 8.0) == amount(MODERATE.worst_case(8.0, classes=5).batch)
    assert MODERATE.worst_case(8.0, classes=5).batch < 2.0


def test_the_same_batch_again_gets_the_same_draws_and_another_is_charged_again(clinics: Federation) -> None:
    data = drawing(clinics, MODERATE, 100)
    X = clinics.task.prepare(data.X[:100])
    with clinics.serving() as caller:
        first = caller.vote(caller.ask(X))
        assert caller.vote(caller.ask(X)) == first
        once = spent(clinics, 8.0)
        second = caller.vote(caller.ask(X, batch_id=2))
        both = caller.ballots(first), caller.ballots(second, 2)
    assert not np.array_equal(*both)
    assert spent(clinics, 8.0) == 2 * once


def test_a_party_that_restarts_gives_no_second_answer_for_one_charge(clinics: Federation) -> None:
    data = drawing(clinics, MODERATE, 100)
    X = clinics.task.prepare(data.X[:100])
    with clinics.serving() as caller:
        first = caller.vote(caller.ask(X))
    once = spent(clinics, 8.0)
    with clinics.serving() as caller:
        with pytest.raises(OstrakaError) as refused:
            caller.vote(caller.ask(X))
        assert refused.value.code is ErrorCode.BATCH_RESTARTED
        assert spent(clinics, 8.0) == once
        assert caller.vote(caller.ask(X, batch_id=2)) != first
    assert spent(clinics, 8.0) == 2 * once


def test_receipts_name_the_mechanism_and_labels_alone(clinics: Federation) -> None:
    data = drawing(clinics, MODERATE, 10)
    answers(clinics, clinics.task.prepare(data.X[:10]))
    with Journal(clinics.party / "journal.db") as journal:
        ((_, _, charge),) = list(journal.receipts())
    assert (charge.mechanism, charge.adjacency, charge.classes, charge.sensitivity) == (
        MODERATE,
        "label",
        5,
        1,
    )


def test_labels_are_not_given_away_unless_the_policy_says_so(clinics: Federation) -> None:
    data = drawing(clinics, CERTAIN, 3)
    clinics.set_policy(randomized_labels=False)
    with clinics.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(clinics.task.prepare(data.X[:3])))
    assert refused.value.code is ErrorCode.POLICY_REFUSED
    assert not clinics.guardian.submissions


def test_a_party_of_single_labels_does_not_answer_with_several(attica: Federation) -> None:
    attica.set_policy(randomized_labels=True)
    attica.set_table("training", data="records.npz")
    save(digits(), attica.party / "records.npz")
    asked = {"queries": 3, "batch_size": 3, "adjacency": "label"}
    attica.replan(mechanism=CERTAIN, multi_label=True, **asked)
    with attica.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(caller.ask(np.zeros((3, 64), np.float32)))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
