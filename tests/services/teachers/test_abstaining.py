"""Teachers of a party that abstains from labels: nothing is learned of them, and nothing is voted."""

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ostraka.common.datasets import Dataset, digits, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task
from ostraka.services.admission.manifest_terms import declaration
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.exported.models import host
from ostraka.services.teachers.manifest import TeachersManifest
from ostraka.services.teachers.preparation import prepare
from tests.services.conftest import symptoms
from tests.services.teachers.exported.test_models import write

LEFT_OUT = ("label4", "label2")
"""Two of five labels; everybody has label 2."""


def config(model: str = "logistic", **more: object) -> TrainingConfig:
    return TrainingConfig.model_validate({"teachers": 3, "model": model, "abstains": LEFT_OUT} | more)


@pytest.fixture(scope="module")
def records() -> Dataset:
    return symptoms(150)


@pytest.fixture(scope="module")
def task(records: Dataset) -> Task:
    return infer_task(records, "symptoms")


@pytest.fixture(scope="module")
def asked(task: Task) -> NDArray[np.float32]:
    return task.prepare(symptoms(60, seed=1).X)


@pytest.mark.parametrize("model", ["logistic", "mlp", "logistic_regression", "random_forest"])
def test_no_teacher_votes_on_them_or_learns_what_their_columns_hold(
    records: Dataset, task: Task, asked: NDArray[np.float32], model: str
) -> None:
    y = records.labels().copy()
    y[:, [2, 4]] = 1 - y[:, [2, 4]]
    other = from_arrays(records.X, y)
    first, second = (
        train(data, task, config(model, epochs=3 if "_" not in model else None), seed=0).predict(asked)
        for data in (records, other)
    )
    assert np.array_equal(first, second)
    assert not first[..., [2, 4]].any()
    assert (first[..., 0] >= 0.5).any()


@pytest.mark.parametrize("thresholds", ["global", "per_label"])
def test_thresholds_of_labels_do_not_move_what_is_left_out(
    records: Dataset, task: Task, asked: NDArray[np.float32], thresholds: str
) -> None:
    ensemble = train(records, task, config(epochs=5, thresholds=thresholds), seed=0)
    assert not ensemble.predict(asked)[..., [2, 4]].any()


def test_manifest_and_declaration_name_them_in_rising_order(
    records: Dataset, task: Task, asked: NDArray[np.float32], tmp_path: Path
) -> None:
    ensemble = train(records, task, config(epochs=2), seed=0)
    ensemble.save(tmp_path / "teachers")
    loaded = Ensemble.load(tmp_path / "teachers")
    assert loaded.manifest.abstains == (2, 4)
    assert np.array_equal(loaded.predict(asked), ensemble.predict(asked))
    assert list(declaration(loaded.manifest, "athens", 1).abstains) == [2, 4]
    fields = loaded.manifest.model_dump(mode="json")
    assert (
        TeachersManifest.model_validate({k: v for k, v in fields.items() if k != "abstains"}).abstains == ()
    )


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["label9"], "no label 'label9'"),
        (["label2", "label2"], "twice"),
        ([f"label{i}" for i in range(5)], "nothing to vote on"),
    ],
)
def test_what_is_no_label_to_leave_out_is_refused(
    records: Dataset, task: Task, names: list[str], problem: str
) -> None:
    with pytest.raises(OstrakaError, match=problem) as refused:
        train(records, task, config(abstains=names), seed=0)
    assert refused.value.code is ErrorCode.CONFIG_INVALID
    assert "abstains in [training]" in refused.value.message


def test_one_class_a_record_leaves_nothing_to_abstain_from() -> None:
    task = infer_task(digits(), "digits")
    with pytest.raises(OstrakaError, match="one class for a record") as refused:
        train(digits(), task, config(abstains=["3"]), seed=0)
    assert refused.value.code is ErrorCode.CONFIG_INVALID


def test_teachers_that_learn_together_learn_all_labels(records: Dataset, task: Task) -> None:
    with pytest.raises(OstrakaError, match="learn all labels") as refused:
        prepare(records, task, config(), seed=0, together="dp-ttac")
    assert refused.value.code is ErrorCode.CONFIG_INVALID


@pytest.mark.heavy
def test_models_trained_elsewhere_are_not_heard_on_them(
    records: Dataset, task: Task, asked: NDArray[np.float32], tmp_path: Path
) -> None:
    net = torch.nn.Linear(6, 5)
    torch.nn.init.ones_(net.bias)
    torch.nn.init.zeros_(net.weight)
    write(net, tmp_path / "one.pt2", shape=(6,))
    ensemble = host(records, task, config("file:one.pt2", teachers=1), folder=tmp_path)
    assert ensemble.manifest.abstains == (2, 4)
    assert ((ensemble.predict(asked) >= 0.5) == [True, True, False, True, False]).all()
