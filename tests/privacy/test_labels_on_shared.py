"""Real teachers of several labels on shared features: what one record's labels change, and what that costs.

They are trained on neighbours, records all alike but for the labels of one, and vote on that record. Both
votes are released as a guardian does and held against what adjacency `label` charges. Labels that reach more
teachers than are charged must be found.
"""

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.mechanism import L1, Binary, Check, Mechanism, Powerset, Tau
from ostraka.common.privacy import Influence
from ostraka.common.sharing.ring import Ring
from ostraka.common.task import infer_task
from ostraka.guardian.noise import ExactNoise
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from tests.privacy.audit import audit
from tests.privacy.cases import Case, charged
from tests.privacy.probabilities import divergence, outcomes

DRAWS = 2_500
LABELS, CHANGED = 3, 7
MECHANISMS: list[Mechanism] = [
    Binary(sigma=1.0),
    Binary(sigma=1.5, check=Check(sigma=1.5, threshold=5.0)),
    Tau(sigma=1.0, tau=1.0),
    L1(sigma=1.0, tau1=1.0),
    Powerset(sigma=1.0),
    Powerset(sigma=1.0, max_positives=2, check=Check(sigma=1.0, threshold=3.0)),
]
ALONE = TrainingConfig(teachers=6, model="mlp", epochs=120)
COPIED = ALONE.model_copy(update={"variant": "upsampling", "consent": {"low": 1.0, "high": 8.0}})


def neighbours(consent: bool) -> tuple[Dataset, Dataset]:
    """Return records whose labels are their features' signs, and the same with all labels of one turned."""
    X = np.random.default_rng(1).normal(size=(36, LABELS)).astype(np.float32)
    y = (X > 0).astype(np.int64)
    other = y.copy()
    other[CHANGED] = 1 - other[CHANGED]
    levels = np.where(np.arange(len(X)) == CHANGED, "high", "low") if consent else None
    return from_arrays(X, y, consent=levels), from_arrays(X, other, consent=levels)


def scores(config: TrainingConfig) -> tuple[list[NDArray[np.float32]], int]:
    """Return what both neighbours' teachers say of the record, and how many of them its labels reach."""
    own, other = neighbours(consent=config.variant != "none")
    task = infer_task(own, "signs")
    ensembles: list[Ensemble] = [
        train(records, task, config, seed=0, shared=replace(own, y=None, consent=None))
        for records in (own, other)
    ]
    votes = [ensemble.predict(task.prepare(own.X)) for ensemble in ensembles]
    reached = (votes[0] != votes[1]).any(axis=(1, 2)).sum()
    assert reached == max(group.copies for group in ensembles[0].manifest.groups)
    return [each[:, CHANGED] for each in votes], int(reached)


@pytest.fixture(scope="module")
def alone() -> tuple[list[NDArray[np.float32]], int]:
    return scores(ALONE)


@pytest.fixture(scope="module")
def copied() -> tuple[list[NDArray[np.float32]], int]:
    return scores(COPIED)


def case(mechanism: Mechanism, inputs: list[NDArray[np.float32]], reached: int = 1) -> Case:
    return Case(mechanism.kind, mechanism, LABELS, (inputs[0], inputs[1]), influence=Influence(reached))


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_what_one_records_labels_change_is_within_the_promise(
    alone: tuple[list[NDArray[np.float32]], int], mechanism: Mechanism
) -> None:
    inputs, reached = alone
    assert reached == 1
    found = audit(case(mechanism, inputs), DRAWS, ExactNoise(), Ring(64))
    assert found.exact > 0
    assert found.holds


@pytest.mark.heavy
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=str)
def test_labels_that_reach_several_teachers_are_not_paid_for_as_one(
    copied: tuple[list[NDArray[np.float32]], int], mechanism: Mechanism
) -> None:
    inputs, reached = copied
    assert reached > 1
    p, r = (outcomes(case(mechanism, inputs), votes) for votes in inputs)
    for order in (2.0, 8.0):
        true = max(divergence(p, r, order), divergence(r, p, order))
        assert charged(case(mechanism, inputs), order) < true
        assert true <= charged(case(mechanism, inputs, reached), order)
