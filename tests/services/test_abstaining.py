"""A party that abstains from labels, and plans that chose some, over the wire: what its ballots hold."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.mechanism import L1, Binary, Mechanism, Powerset, Tau
from ostraka.common.sharing.label_sets import count_sets
from ostraka.common.task import infer_task, write_task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.services.conftest import symptoms
from tests.services.wire import TEACHERS, Ask, Caller, Federation, federation, participant, scheduled

LEFT_OUT = [2, 4]
"""Everybody has label 2, so that a vote on it would weigh in every norm."""


@pytest.fixture(scope="session")
def trained_abstaining(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with teachers that abstain, and the same as they would vote on every label."""
    folder = tmp_path_factory.mktemp("abstaining")
    task = infer_task(symptoms(150), "symptoms")
    write_task(task, folder / "task.toml")
    ensemble = train(
        symptoms(150), task, TrainingConfig(teachers=TEACHERS, model="logistic_regression"), seed=1
    )
    ensemble.save(folder / "know-all")
    ensemble.manifest = ensemble.manifest.model_copy(update={"abstains": tuple(LEFT_OUT)})
    ensemble.save(folder / "teachers")
    return folder


@pytest.fixture
def clinics(tmp_path: Path, trained_abstaining: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained_abstaining) as made:
        yield made


@pytest.fixture
def queries(clinics: Federation) -> NDArray[np.float32]:
    return clinics.task.prepare(symptoms(40, seed=7).X)


def ask(caller: Caller, X: NDArray[np.float32], abstains: list[int]) -> Ask:
    who = participant("athens")
    who.abstains.extend(abstains)
    everyone = [who, participant("sparta"), participant("thebes")]
    ticket = caller.ticket(1, len(X), schedule=[scheduled(who)])
    return replace(caller.ask(X), grant=caller.grant(participants=everyone), ticket=ticket)


@pytest.mark.heavy
def test_the_signed_manifest_names_the_labels(clinics: Federation) -> None:
    with clinics.serving():
        manifest = common_pb2.Manifest.FromString(clinics.guardian.manifests[0].payload)
    assert list(manifest.abstains) == LEFT_OUT


@pytest.mark.heavy
@pytest.mark.parametrize(
    ("mechanism", "power"),
    [(Binary(sigma=5.0), 0.0), (Tau(sigma=5.0, tau=1.0), 0.5), (L1(sigma=5.0, tau1=1.0), 1.0)],
)
def test_ballots_are_zero_there_and_their_norms_are_of_the_other_labels(
    clinics: Federation, queries: NDArray[np.float32], mechanism: Mechanism, power: float
) -> None:
    clinics.replan(mechanism=mechanism)
    with clinics.serving() as caller:
        found = caller.ballots(caller.vote(ask(caller, queries, LEFT_OUT)))
    expected = np.zeros((40, 5))
    for bits in Ensemble.load(clinics.party / "know-all").predict(queries) >= 0.5:
        assert bits[:, 2].all()
        bits[:, LEFT_OUT] = False
        steps = np.trunc(2.0**16 / np.maximum(bits.sum(axis=1), 1) ** power)
        expected += bits * steps[:, None] / 2**16
    assert np.array_equal(found, expected)
    assert found.any()
    with Journal(clinics.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(mechanism, 40, 5 - len(LEFT_OUT)).amount(8.0)


@pytest.mark.heavy
@pytest.mark.parametrize("abstains", [[], [2], [2, 3], [1, 2, 4]], ids=str)
def test_a_guardian_that_counts_it_otherwise_gets_no_vote(
    clinics: Federation, queries: NDArray[np.float32], abstains: list[int]
) -> None:
    with clinics.serving() as caller:
        with pytest.raises(OstrakaError, match="abstain from other labels") as refused:
            caller.vote(ask(caller, queries, abstains))
        assert refused.value.code is ErrorCode.TICKET_INVALID
        caller.vote(ask(caller, queries, LEFT_OUT))


@pytest.mark.heavy
@pytest.mark.parametrize("labels", [(0, 1, 4), (3,), (0, 1, 3)], ids=str)
@pytest.mark.parametrize(
    "mechanism",
    [Binary(sigma=5.0), Tau(sigma=5.0, tau=1.0), L1(sigma=5.0, tau1=1.0), Powerset(sigma=5.0)],
    ids=lambda mechanism: mechanism.kind,
)
def test_ballots_are_of_the_chosen_labels_alone(
    clinics: Federation, queries: NDArray[np.float32], mechanism: Mechanism, labels: tuple[int, ...]
) -> None:
    clinics.replan(mechanism=mechanism, labels=labels, classes=len(labels))
    with clinics.serving() as caller:
        found = caller.ballots(caller.vote(ask(caller, queries, LEFT_OUT)))
    scores = Ensemble.load(clinics.party / "teachers").predict(queries)[..., list(labels)]
    np.testing.assert_array_equal(found, mechanism.ballot.count(scores, len(labels)))
    assert found.shape[1] == (count_sets(len(labels), None) if mechanism.kind == "powerset" else len(labels))
    assert found.any()
    voted = len(set(labels) - set(LEFT_OUT))
    with Journal(clinics.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(mechanism, 40, voted).amount(8.0)


@pytest.mark.heavy
@pytest.mark.parametrize(
    "asked",
    [{"labels": (0, 5), "classes": 2}, {"labels": (7,), "classes": 1}, {"classes": 3}],
    ids=["one too large", "too large", "fewer than the task has"],
)
def test_labels_that_are_not_the_tasks_get_no_vote(
    clinics: Federation, queries: NDArray[np.float32], asked: dict[str, Any]
) -> None:
    clinics.replan(mechanism=Binary(sigma=5.0), **asked)
    with clinics.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(ask(caller, queries, LEFT_OUT))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
