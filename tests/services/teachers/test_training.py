from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.task import Task, infer_task
from ostraka.services.teachers import TrainingConfig, accuracy, train
from ostraka.services.teachers.assignment import slices
from ostraka.services.teachers.nets import FILE
from tests.services.teachers.conftest import blobs
from tests.services.teachers.factories import HERE

BUILT_IN = ("logistic", "mlp", "square-mlp", "logistic_regression", "random_forest")


OPTIONS = {"rotate": 7.5, "held_out": 0.25, "patience": 1, "balanced": True}


def config(model: str, **more: object) -> TrainingConfig:
    return TrainingConfig.model_validate({"teachers": 4, "model": model} | more)


def weights(
    data: Dataset, task: Task, setting: TrainingConfig, seed: int, folder: Path
) -> dict[str, np.ndarray]:
    train(data, task, setting, seed=seed).save(folder)
    return load_file(folder / FILE)


@pytest.mark.heavy
@pytest.mark.parametrize("model", BUILT_IN)
def test_every_built_in_model_learns(records: Dataset, task: Task, model: str) -> None:
    votes = train(records, task, config(model), seed=0).predict(task.prepare(records.X))
    assert votes.shape == (4, len(records))
    assert votes.dtype == np.int64
    assert accuracy(votes, records.labels(), 3) > 0.9


@pytest.mark.parametrize("shape", [(8, 8), (3, 17, 16), (16, 17, 3), (1, 4, 5)])
def test_cnn_takes_images_whichever_axis_their_channels_are_on(shape: tuple[int, ...]) -> None:
    data = blobs(48, shape=shape)
    task = infer_task(data, "images")
    votes = train(data, task, config("cnn", epochs=15), seed=0).predict(task.prepare(data.X))
    assert accuracy(votes, data.labels(), 3) > 0.95


@pytest.mark.parametrize(
    ("shape", "model"), [((4,), "mlp"), ((7, 9), "mlp"), ((8, 8), "cnn"), ((3, 8, 8), "cnn")]
)
def test_without_a_model_images_get_a_cnn(shape: tuple[int, ...], model: str) -> None:
    assert TrainingConfig().model_for(shape) == model


@pytest.mark.parametrize("model", ["logistic", "mlp", "cnn", f"{HERE}:dropout"])
def test_the_same_seed_gives_the_same_weights(model: str, tmp_path: Path) -> None:
    data = blobs(60, shape=(8, 8))
    task, setting = infer_task(data, "images"), config(model, epochs=2)
    first = weights(data, task, setting, 5, tmp_path / "first")
    again = weights(data, task, setting, 5, tmp_path / "again")
    other = weights(data, task, setting, 6, tmp_path / "other")
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert any(not np.array_equal(first[name], other[name]) for name in first)


@pytest.mark.heavy
def test_the_same_seed_gives_the_same_forests(records: Dataset, task: Task) -> None:
    asked = task.prepare(blobs(200, seed=8).X)
    first, again = (train(records, task, config("random_forest"), seed=3).predict(asked) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize(("model", "more"), [("mlp", {}), ("cnn", {}), ("mlp", OPTIONS), ("cnn", OPTIONS)])
def test_one_changed_record_changes_one_teacher(model: str, more: dict[str, object], tmp_path: Path) -> None:
    data = blobs(60, shape=(8, 8))
    task, setting = infer_task(data, "images"), config(model, epochs=4, **more)
    changed = from_arrays(data.X.reshape(-1, 8, 8).copy(), (data.labels() + (np.arange(60) == 17)) % 3)
    changed.X[17] = changed.X[18]
    (owner,) = (row for row, part in enumerate(slices(60, 4, 0)) if 17 in part)
    before = weights(data, task, setting, 0, tmp_path / "before")
    after = weights(changed, task, setting, 0, tmp_path / "after")
    differ = {
        row for name in before for row in range(4) if not np.array_equal(before[name][row], after[name][row])
    }
    assert differ == {owner}


@pytest.mark.heavy
@pytest.mark.parametrize("model", ["cnn", "logistic_regression"])
def test_balanced_teachers_do_not_forget_what_is_rare(model: str) -> None:
    """A class in a twentieth of the records, so near another that it is only found where it counts."""
    random = np.random.default_rng(0)
    y = (np.arange(800) % 20 == 0).astype(np.int64)
    data = from_arrays(random.normal(0, 1, (800, 8, 8)) + 0.2 * y[:, None, None], y)
    task = infer_task(data, "uneven")
    rare = task.prepare(data.X[y == 1])
    plain, balanced = (
        train(data, task, config(model, epochs=3, balanced=balanced), seed=0).predict(rare)
        for balanced in (False, True)
    )
    assert balanced.mean() > plain.mean() + 0.02


@pytest.mark.parametrize(
    ("model", "option"),
    [
        ("mlp", "rotate"),
        ("logistic_regression", "rotate"),
        ("random_forest", "held_out"),
        (f"{HERE}:bayes", "balanced"),
    ],
)
def test_an_option_that_a_model_has_no_use_for_is_refused(
    records: Dataset, task: Task, model: str, option: str
) -> None:
    with pytest.raises(OstrakaError) as refused:
        train(records, task, config(model, **{option: OPTIONS[option]}), seed=0)
    assert refused.value.code in (ErrorCode.CONFIG_INVALID, ErrorCode.MODEL_INVALID)
    assert option in refused.value.message


def test_networks_whose_losses_are_no_numbers_are_refused(records: Dataset, task: Task) -> None:
    with pytest.raises(OstrakaError) as refused:
        train(records, task, config(f"{HERE}:exploding", epochs=2), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert "losses are not numbers" in refused.value.message


@pytest.mark.parametrize("held_out", [0.0, 0.25])
def test_one_network_whose_losses_are_no_numbers_votes_for_a_fixed_class(
    records: Dataset, task: Task, held_out: float, tmp_path: Path
) -> None:
    setting = config(f"{HERE}:unlucky", epochs=2, held_out=held_out)
    found = train(records, task, setting, seed=0)
    found.save(tmp_path / "teachers")
    stored = load_file(tmp_path / "teachers" / FILE)
    failed = ~np.isfinite(stored["1.linear.weight"]).all(axis=(1, 2))
    assert 0 < failed.sum() < 4
    votes = found.predict(task.prepare(records.X))
    assert (votes[failed] == 0).all()
    assert all(len(set(row.tolist())) > 1 for row in votes[~failed])


@pytest.mark.parametrize("model", ["mlp", "random_forest"])
def test_a_slice_of_one_class_votes_for_it(model: str) -> None:
    y = np.arange(40) % 3
    y[slices(40, 4, 0)[2]] = 1
    data = from_arrays(np.random.default_rng(0).normal(size=(40, 4)), y)
    task = infer_task(data, "uneven")
    ensemble = train(data, task, config(model), seed=0)
    assert ensemble.manifest.constants == {2: 1}
    assert (ensemble.predict(task.prepare(data.X))[2] == 1).all()


def test_one_record_a_teacher_is_enough(task: Task) -> None:
    data = blobs(4)
    votes = train(data, infer_task(data, "few"), config("mlp"), seed=0).predict(data.X)
    assert {int(row[0]) for row in votes} <= {0, 1, 2}
    assert (votes == votes[:, :1]).all()


def test_columns_that_never_change_say_nothing() -> None:
    data = blobs(60)
    data.X[:, 2] = 0.1
    task = infer_task(data, "flat")
    ensemble = train(data, task.model_copy(), config("mlp"), seed=0)
    moved = data.X.copy()
    moved[:, 2] = 1e6
    assert np.array_equal(ensemble.predict(data.X), ensemble.predict(moved))


@pytest.mark.heavy
def test_progress_reaches_its_end(records: Dataset, task: Task) -> None:
    for model in ("mlp", "random_forest", f"{HERE}:dropout"):
        told: list[tuple[int, int]] = []
        train(
            records,
            task,
            config(model, epochs=2),
            seed=0,
            progress=lambda *done, told=told: told.append(done),
        )
        assert [done for done, _ in told] == list(range(1, told[-1][1] + 1))


def test_fewer_records_than_teachers_are_refused(records: Dataset, task: Task) -> None:
    with pytest.raises(OstrakaError) as refused:
        train(records, task, TrainingConfig(teachers=121), seed=0)
    assert refused.value.code is ErrorCode.DATA_TOO_FEW


def test_records_of_another_task_are_refused(records: Dataset, task: Task) -> None:
    swapped = from_arrays(records.X, records.y, columns=("x1", "x0", "x2", "x3"))
    with pytest.raises(OstrakaError) as refused:
        train(swapped, task, config("mlp"), seed=0)
    assert refused.value.code is ErrorCode.TASK_MISMATCH


@pytest.mark.parametrize(
    "model",
    [
        "no.such.module:build",
        f"{HERE}:missing",
        f"{HERE}:not_callable",
        f"{HERE}:nothing",
        f"{HERE}:fails",
        f"{HERE}:picky",
        f"{HERE}:wrong_shape",
        f"{HERE}:untrainable",
        "cnn",
    ],
)
def test_a_wrong_model_is_refused_and_leaks_nothing(records: Dataset, task: Task, model: str) -> None:
    with pytest.raises(OstrakaError) as refused:
        train(records, task, config(model), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID
    assert model in refused.value.message
    assert "secret" not in refused.value.message
