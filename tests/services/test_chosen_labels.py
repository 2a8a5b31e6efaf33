"""A plan that chose labels, over the wire: ballots of these columns alone, and what they cost the party."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from common.errors import ErrorCode, OstrakaError
from common.mechanism import L1, AnyMechanism, Binary, Powerset, Tau
from common.sharing.ballots import ballots
from common.sharing.label_sets import count_sets
from common.task import infer_task, write_task
from services.charges import Charge
from services.journal import Journal
from services.teachers import Ensemble, TrainingConfig, train
from tests.services.conftest import symptoms
from tests.services.test_abstaining import ask
from tests.services.wire import TEACHERS, Federation, federation

LEFT_OUT = [2, 4]


@pytest.fixture(scope="session")
def trained_clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("chosen")
    task = infer_task(symptoms(150), "symptoms")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, model="random_forest")
    ensemble = train(symptoms(150), task, config, seed=1)
    ensemble.manifest = ensemble.manifest.model_copy(update={"abstains": tuple(LEFT_OUT)})
    ensemble.save(folder / "teachers")
    return folder


@pytest.fixture
def clinics(tmp_path: Path, trained_clinic: Path) -> Iterator[Federation]:
    with federation(tmp_path, trained_clinic) as made:
        yield made


@pytest.fixture
def queries(clinics: Federation) -> NDArray[np.float32]:
    return clinics.task.prepare(symptoms(40, seed=7).X)


@pytest.mark.parametrize("labels", [(0, 1, 4), (3,), (0, 1, 3)], ids=str)
@pytest.mark.parametrize(
    "mechanism",
    [Binary(sigma=5.0), Tau(sigma=5.0, tau=1.0), L1(sigma=5.0, tau1=1.0), Powerset(sigma=5.0)],
    ids=lambda mechanism: mechanism.kind,
)
def test_ballots_are_of_the_chosen_labels_alone(
    clinics: Federation, queries: NDArray[np.float32], mechanism: AnyMechanism, labels: tuple[int, ...]
) -> None:
    clinics.replan(mechanism=mechanism, labels=labels, classes=len(labels))
    with clinics.serving() as caller:
        found = caller.ballots(caller.vote(ask(caller, queries, LEFT_OUT)))
    scores = Ensemble.load(clinics.party / "teachers").predict(queries)[..., list(labels)]
    np.testing.assert_array_equal(found, ballots(scores, mechanism, len(labels)))
    assert found.shape[1] == (count_sets(len(labels), None) if mechanism.kind == "powerset" else len(labels))
    assert found.any()
    voted = len(set(labels) - set(LEFT_OUT))
    with Journal(clinics.party / "journal.db") as journal:
        assert journal.spent(8.0) == Charge(mechanism, 40, voted).amount(8.0)


@pytest.mark.parametrize("labels", [(0, 5), (7,)], ids=str)
def test_labels_that_the_task_does_not_have_get_no_vote(
    clinics: Federation, queries: NDArray[np.float32], labels: tuple[int, ...]
) -> None:
    clinics.replan(mechanism=Binary(sigma=5.0), labels=labels, classes=len(labels))
    with clinics.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(ask(caller, queries, LEFT_OUT))
    assert refused.value.code is ErrorCode.TASK_MISMATCH


def test_fewer_labels_than_the_task_has_must_be_named(
    clinics: Federation, queries: NDArray[np.float32]
) -> None:
    clinics.replan(mechanism=Binary(sigma=5.0), classes=3)
    with clinics.serving() as caller, pytest.raises(OstrakaError) as refused:
        caller.vote(ask(caller, queries, LEFT_OUT))
    assert refused.value.code is ErrorCode.TASK_MISMATCH
