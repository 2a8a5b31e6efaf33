"""Teachers of several labels that learn from features that all sites know: one record's labels reach one."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ostraka.common.crypto.logits import LOGIT_RANGE
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.datasets.label_columns import UNKNOWN
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning import loop
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, semi_supervised, train
from tests.services.teachers.conftest import blobs

LABEL_SETS = np.array([[1, 0, 1, 0], [1, 1, 0, 0], [0, 1, 0, 0]])
"""What records around each centre have; nothing has the last label."""
CHANGED = 7
FEW = TrainingConfig(teachers=4, model="mlp")
SHORT = TrainingConfig(teachers=3, model="mlp", epochs=1)
TUNED = SHORT.model_copy(update={"thresholds": "per_label"})
DROPPING = "tests.services.teachers.factories:dropout"


def labelled(records: int, seed: int = 0) -> Dataset:
    single = blobs(records, seed)
    return from_arrays(single.X, LABEL_SETS[single.labels()])


SHARED = labelled(200, seed=3)
OWN = labelled(60)
TEST = labelled(150, seed=8)


@pytest.fixture(scope="module")
def task() -> Task:
    return infer_task(OWN, "labels", SHARED, TEST)


def turned(value: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> Dataset:
    """Own records, all labels of one of them changed at once."""
    y = OWN.labels().copy()
    y[CHANGED] = value(y[CHANGED])
    return replace(OWN, y=y)


def opposite(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return 1 - labels


def unknown(labels: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.full_like(labels, UNKNOWN)


def trained(own: Dataset, task: Task, config: TrainingConfig = SHORT, **given: Any) -> Ensemble:
    return train(own, task, config, seed=0, **{"shared": replace(SHARED, y=None)} | given)


def weights(ensemble: Any) -> list[NDArray[np.float32]]:
    """Every teacher's weights and buffers, and its thresholds."""
    nets = [
        np.concatenate([part.ravel() for part in net.state_dict().values()]) for net in ensemble.models.nets
    ]
    thresholds = ensemble.thresholds
    return nets if thresholds is None else [*map(np.append, nets, thresholds.values)]


def differing(first: Ensemble, second: Ensemble) -> list[int]:
    both = zip(weights(first), weights(second), strict=True)
    return [row for row, (one, other) in enumerate(both) if not np.array_equal(one, other)]


@pytest.mark.heavy
def test_each_label_is_learned_from_few(task: Task) -> None:
    scores = trained(OWN, task, FEW).predict(task.prepare(TEST.X))
    assert scores.shape == (4, 150, 4)
    right = (scores >= np.float32(0.5)) == TEST.labels()
    assert right.mean(axis=(0, 1)).min() > 0.9


@pytest.mark.parametrize("change", [opposite, unknown], ids=["opposite", "unknown"])
@pytest.mark.parametrize("tuned", [False, True])
def test_a_changed_set_of_labels_changes_one_teacher(task: Task, change: Any, tuned: bool) -> None:
    config = TUNED if tuned else SHORT
    assert len(differing(trained(OWN, task, config), trained(turned(change), task, config))) == 1


def test_labels_in_the_file_that_all_share_are_not_used(task: Task) -> None:
    assert differing(trained(OWN, task), trained(OWN, task, shared=SHARED)) == []


def test_thresholds_may_be_tuned_on_records_of_nobody(task: Task) -> None:
    first, second = (trained(own, task, TUNED, public=TEST) for own in (OWN, turned(opposite)))
    assert len(differing(first, second)) == 1


def test_thresholds_that_secret_labels_would_tune_are_refused(task: Task) -> None:
    secret = OWN.take(np.array([CHANGED]))
    public = replace(
        TEST, X=np.concatenate([TEST.X, secret.X]), y=np.concatenate([TEST.labels(), secret.labels()])
    )
    with pytest.raises(OstrakaError, match="leave them out") as refused:
        trained(OWN, task, TUNED, public=public)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
def test_networks_of_a_factory_draw_from_their_own_generators(
    monkeypatch: pytest.MonkeyPatch, task: Task
) -> None:
    """A teacher whose losses become no numbers learns no more: the next ones draw the same all the same."""
    config = SHORT.model_copy(update={"model": DROPPING})
    whole = trained(OWN, task, config)
    calls: list[int] = []

    def learn(*args: Any, **options: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise OstrakaError(ErrorCode.MODEL_DIVERGED, "no number")
        return loop.learn(*args, **options)

    monkeypatch.setattr(semi_supervised, "learn", learn)
    assert differing(whole, trained(OWN, task, config)) == [0]


@pytest.mark.heavy
def test_heads_for_encrypted_queries_say_yes_as_before_and_stay_in_range(
    monkeypatch: pytest.MonkeyPatch, task: Task
) -> None:
    config = TrainingConfig(teachers=2, head="linear")
    bounded: Any = trained(OWN, task, config)
    monkeypatch.setattr(semi_supervised, "limit_logits", lambda *args, **options: None)
    free = trained(OWN, task, config)
    assert differing(bounded, free) == [0, 1]
    yes, as_before = (one.predict(task.prepare(TEST.X)) >= np.float32(0.5) for one in (bounded, free))
    np.testing.assert_array_equal(yes, as_before)
    X = torch.from_numpy(task.prepare(OWN.X))
    for net in bounded.models.nets:
        assert float(net(X).detach().abs().max()) <= LOGIT_RANGE * (1 + 1e-5)
