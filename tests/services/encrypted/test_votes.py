"""Votes on encrypted queries: both shares add up to what the teachers say in the clear."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ostraka.common.crypto.ml_kem_ot import OFFER_BYTES
from ostraka.common.datasets import digits
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.encoders import load_encoder
from ostraka.common.mechanism import L1, Binary, Confident, DistributedGnMax, LnMax, Mechanism, Powerset, Tau
from ostraka.common.sharing.ballots import VOTE
from ostraka.common.task import Task, infer_task, write_task
from ostraka.protos.ostraka.v1 import common_pb2
from ostraka.services.encrypted import head_processes
from ostraka.services.encrypted.head_process import HeadProcess
from ostraka.services.journal.journal import Journal
from ostraka.services.journal.limits import GroupCharge
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.layouts import layouts
from tests.common.noise.laws import GAUSSIAN, fits
from tests.services.conftest import symptoms
from tests.services.encrypted.conftest import encrypted
from tests.services.encrypted.querier import Encrypted, athens
from tests.services.wire import TEACHERS, Federation, federation

ENCODER = "tests.common.learning.test_encoders:means"
FEW = 0.012
"""Share of votes that may fall otherwise, because two logits are closer than the precision of their shares.

On average it is half a vote of 900; eleven have a chance below 1e-9 (Poisson).
"""


def queries(made: Federation, count: int, start: int = 0) -> NDArray[np.float32]:
    return made.task.prepare(digits().X[start : start + count])


def expected(made: Federation, X: NDArray[np.float32], weight: int = VOTE) -> NDArray[np.float64]:
    votes = Ensemble.load(made.party / "teachers").predict(X)
    return made.plan.mechanism.ballot.count(votes, made.plan.classes, weight)


def moved(found: NDArray[np.float64], wanted: NDArray[np.float64]) -> float:
    """Return the share of votes that differ."""
    return float(np.abs(found - wanted).sum() / 2 / (len(found) * TEACHERS))


@pytest.mark.heavy
def test_linear_heads_vote_as_in_the_clear(attica: Federation) -> None:
    X = queries(attica, 300)
    with attica.serving() as caller:
        found = Encrypted(caller, X).run()
    assert moved(found, expected(attica, X)) <= FEW
    assert (found.sum(axis=1) == TEACHERS).all()
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 300, 10).amount(8.0)


def test_base_transfers_by_ml_kem_change_no_vote(attica: Federation) -> None:
    attica.replan(base_transfers="ml-kem")
    X = queries(attica, 9)
    with attica.serving() as caller:
        batch = Encrypted(caller, X)
        found = batch.run()
    assert moved(found, expected(attica, X)) <= FEW
    assert batch.votes.computation.sizes.points == OFFER_BYTES


@pytest.mark.heavy
def test_networks_that_square_vote_as_in_the_clear(squares: Federation) -> None:
    X = queries(squares, 100)
    with squares.serving() as caller:
        found = Encrypted(caller, X, who=athens("square-mlp")).run()
    assert moved(found, expected(squares, X)) <= 2 * FEW


@pytest.mark.heavy
def test_squares_by_products_vote_as_in_the_clear(tmp_path: Path, squares_by_products: Path) -> None:
    """The default word for encrypted queries allows them: masks hide such heads whatever is sent."""
    with federation(tmp_path, squares_by_products) as made:
        encrypted(made, ("ckks",))
        X = queries(made, 300)
        with made.serving() as caller:
            found = Encrypted(caller, X, who=athens("square")).run()
        assert moved(found, expected(made, X)) <= FEW


@pytest.fixture
def two_cores(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have a party find two cores."""
    before = torch.get_num_threads()
    monkeypatch.setattr(head_processes, "cores", lambda: 2)
    monkeypatch.setattr(layouts, "threads", lambda: 2)
    yield
    # Training leaves PyTorch with as many threads as there are cores. Those of later tests would wait for
    # each other, ten times as long as they compute.
    torch.set_num_threads(before)


@pytest.mark.heavy
@pytest.mark.usefixtures("two_cores")
def test_a_party_with_two_cores_evaluates_squares_in_processes(
    squares: Federation, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They end with it."""
    X, started = queries(squares, 20), list[HeadProcess]()
    start = HeadProcess.__init__

    def noting(self: HeadProcess) -> None:
        start(self)
        started.append(self)

    monkeypatch.setattr(HeadProcess, "__init__", noting)
    with squares.serving() as caller:
        found = Encrypted(caller, X, who=athens("square-mlp")).run()
        assert len(started) == 2
    assert moved(found, expected(squares, X)) <= 2 * FEW
    for one in started:
        assert one.pid is not None
        with pytest.raises(ProcessLookupError):
            os.kill(one.pid, 0)


def test_teachers_of_one_class_say_it_whatever_is_asked(tmp_path: Path) -> None:
    data = digits().take(np.flatnonzero(digits().labels() == 7))
    folder = tmp_path / "sevens"
    folder.mkdir()
    task = infer_task(digits(), "digits")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, head="linear", epochs=1)
    train(data, task, config, seed=1).save(folder / "teachers")
    with federation(tmp_path, folder) as made:
        encrypted(made)
        with made.serving() as caller:
            found = Encrypted(caller, queries(made, 9)).run()
    assert np.array_equal(found, TEACHERS * np.eye(10)[[7] * 9])


@pytest.mark.parametrize("mechanism", [LnMax(gamma=0.1), Confident(sigma1=20, sigma2=10, threshold=2)])
def test_every_mechanism_of_classes_is_counted(attica: Federation, mechanism: Mechanism) -> None:
    attica.replan(mechanism=mechanism)
    X = queries(attica, 20)
    with attica.serving() as caller:
        assert moved(Encrypted(caller, X).run(), expected(attica, X)) <= 1 / 60


@pytest.mark.parametrize(
    "mechanism",
    [
        Binary(sigma=10),
        Tau(sigma=10, tau=1.3),
        L1(sigma=10, tau1=1.0),
        Powerset(sigma=10),
        Powerset(sigma=10, max_positives=2),
    ],
    ids=lambda mechanism: mechanism.kind,
)
def test_every_mechanism_of_labels_is_counted(clinics: Federation, mechanism: Mechanism) -> None:
    clinics.replan(mechanism=mechanism)
    X = clinics.task.prepare(symptoms(30, seed=7).X)
    with clinics.serving() as caller:
        found = Encrypted(caller, X).run()
    otherwise = (found != expected(clinics, X)).any(axis=1)
    assert otherwise.mean() <= 0.04


@pytest.mark.parametrize("labels", [(1,), (0, 2)])
def test_chosen_labels_alone_are_counted(clinics: Federation, labels: tuple[int, ...]) -> None:
    X = clinics.task.prepare(symptoms(30, seed=7).X)
    clinics.replan(mechanism=Binary(sigma=10))
    every = expected(clinics, X)
    clinics.replan(labels=labels, classes=len(labels))
    with clinics.serving() as caller:
        found = Encrypted(caller, X).run()
    assert found.shape == (30, len(labels))
    assert (found != every[:, list(labels)]).any(axis=1).mean() <= 0.04


def test_queries_that_are_not_scheduled_get_zero_ballots(attica: Federation) -> None:
    X, votes = queries(attica, 11), np.arange(11) % 3 == 0
    with attica.serving() as caller:
        found = Encrypted(caller, X, bits=(np.packbits(votes).tobytes(),)).run()
    assert np.array_equal(found.sum(axis=1), TEACHERS * votes)
    assert moved(found, expected(attica, X) * votes[:, None]) <= 1 / 33
    with Journal(attica.party / "journal.db") as journal:
        assert journal.amount_spent(8.0) == GroupCharge(attica.plan.mechanism, 4, 10).amount(8.0)


@pytest.mark.heavy
def test_cohorts_vote_on_their_own_queries_with_their_own_weight(tmp_path: Path) -> None:
    data = digits()
    levels = tuple(np.where(np.arange(len(data)) % 2, "low", "high").tolist())
    folder = tmp_path / "apart"
    folder.mkdir()
    task = infer_task(data, "digits")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(
        teachers=3, head="linear", variant="weighting", consent={"low": 1, "high": 2}, epochs=5
    )
    ensemble = train(replace(data, consent=levels), task, config, seed=1)
    ensemble.save(folder / "teachers")
    cohorts = [
        common_pb2.Cohort(
            groups=cohort.groups, teachers=cohort.rows.stop - cohort.rows.start, weight=weight, copies=[1]
        )
        for cohort, weight in zip(ensemble.manifest.cohorts, (3 * VOTE // 2, VOTE // 2), strict=True)
    ]
    who = common_pb2.Participant(
        site="athens", teachers=3, max_votes_per_person=1, cohorts=cohorts, head="linear"
    )
    with federation(tmp_path, folder) as made:
        encrypted(made)
        made.replan(variant="weighting")
        X = queries(made, 9)
        second = np.arange(9) % 2 == 0
        with made.serving() as caller:
            found = Encrypted(caller, X, who=who, bits=(b"", np.packbits(second).tobytes())).run()
            alone = Encrypted(caller, X, 2, who=who, bits=(bytes(2), b"")).run()
    first_votes, second_votes = (
        made.plan.mechanism.ballot.count(ensemble.predict(X, cohort.rows), 10)
        for cohort in ensemble.manifest.cohorts
    )
    assert np.array_equal(found, 1.5 * first_votes + 0.5 * second_votes * second[:, None])
    assert np.array_equal(alone, 0.5 * second_votes)


@pytest.mark.heavy
def test_squares_behind_the_tasks_projection_vote_as_in_the_clear(tmp_path: Path) -> None:
    """A plan for the task without it, or with another, is refused."""
    folder = tmp_path / "projected"
    folder.mkdir()
    plain = infer_task(digits(), "digits")
    task, other = (Task.model_validate(plain.model_dump() | {"projection": width}) for width in (12, 13))
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, head="square", epochs=5)
    train(digits(), task, config, seed=1).save(folder / "teachers")
    encoder = load_encoder(task.encoder)
    with federation(tmp_path, folder) as made:
        encrypted(made, ("ckks",))
        made.replan(encoder=encoder.name, encoder_sha256=encoder.sha256)
        X = queries(made, 40)
        with made.serving() as caller:
            found = Encrypted(caller, encoder.encode(X), who=athens("square")).run()
            assert moved(found, expected(made, X)) <= 1 / 60
            for changes in ({"encoder": "", "encoder_sha256": b""}, {"task_digest": other.digest}):
                made.replan(**changes)
                with pytest.raises(OstrakaError) as refused:
                    Encrypted(caller, encoder.encode(X), 2, who=athens("square")).begin()
                assert refused.value.code is ErrorCode.TASK_MISMATCH


@pytest.mark.heavy
def test_teachers_behind_an_encoder_vote_on_its_features(tmp_path: Path) -> None:
    folder = tmp_path / "encoded"
    folder.mkdir()
    task = infer_task(digits(), "digits")
    write_task(task, folder / "task.toml")
    config = TrainingConfig(teachers=TEACHERS, head="linear", encoder=ENCODER, epochs=5)
    train(digits(), task, config, seed=1).save(folder / "teachers")
    encoder = load_encoder(ENCODER)
    with federation(tmp_path, folder) as made:
        encrypted(made)
        made.replan(encoder=ENCODER, encoder_sha256=encoder.sha256)
        X = queries(made, 40)
        with made.serving() as caller:
            found = Encrypted(caller, encoder.encode(X)).run()
        assert moved(found, expected(made, X)) <= 1 / 60


@pytest.mark.heavy
def test_shares_of_encrypted_batches_hold_this_partys_noise(attica: Federation) -> None:
    """Of which the few votes that fall otherwise change nothing that is seen."""
    noised = DistributedGnMax(sigma=50.0, honest=1)
    attica.replan(mechanism=noised, parties=("athens", "sparta"), quorum=2)
    X = queries(attica, 100)
    with attica.serving() as caller:
        found = Encrypted(caller, X).run()
    added = np.round((found - expected(attica, X)) * VOTE).astype(np.int64)
    assert fits(added.ravel(), GAUSSIAN, 50.0 * VOTE)
