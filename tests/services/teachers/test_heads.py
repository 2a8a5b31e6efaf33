"""Networks that are evaluated on encrypted queries: trained in range, and the same as affine maps."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ostraka.common.crypto.heads import WEIGHT_BITS
from ostraka.common.crypto.linear.products import products
from ostraka.common.crypto.logits import HEADS, LOGIT_RANGE, Head
from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.plan.encodings import HIDDEN_HEADS
from ostraka.common.task import infer_task
from ostraka.services.teachers import Ensemble, TrainingConfig, train
from ostraka.services.teachers.config import MODEL_OF_HEAD
from ostraka.services.teachers.encrypted_heads import MAX_WEIGHT, head_of, heads_of
from ostraka.services.teachers.fitting import compose, limit_logits
from ostraka.services.teachers.nets import Networks
from tests.services.conftest import symptoms
from tests.services.teachers.conftest import blobs

ENCODER = "tests.common.learning.test_encoders:means"
IMAGES = blobs(120, shape=(8, 8))


def trained(head: Head, data: Dataset = IMAGES, **more: object) -> Ensemble:
    config = TrainingConfig.model_validate({"teachers": 3, "head": head} | more)
    return train(data, infer_task(data, "images"), config, seed=0)


def asked(shape: tuple[int, ...] = (8, 8)) -> np.ndarray:
    data = blobs(200, seed=5, shape=shape)
    return infer_task(IMAGES, "images").prepare(data.X)


def terms_of(head: Head, X: np.ndarray) -> np.ndarray:
    """Return what a head of this kind takes of queries."""
    return products(X) if head == "square" else X


@pytest.mark.parametrize("head", HEADS)
def test_heads_vote_as_their_networks_and_stay_in_range_on_their_own_records(head: Head) -> None:
    ensemble, task = trained(head), infer_task(IMAGES, "images")
    assert ensemble.manifest.head == head
    heads = heads_of(ensemble)
    assert {len(found.layers) for found in heads} == {1 if head in HIDDEN_HEADS else 2}
    logits = np.stack([found.plain(terms_of(head, asked())) for found in heads])
    assert np.array_equal(logits.argmax(axis=-1), ensemble.predict(asked()))
    own = np.stack([found.plain(terms_of(head, task.prepare(IMAGES.X))) for found in heads])
    assert LOGIT_RANGE / 2 < np.abs(own).max() < 2 * LOGIT_RANGE


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("shape", [(8, 8), (3, 17, 16), (16, 17, 3), (1, 4, 5), (28, 28)])
def test_a_head_gives_its_networks_logits(head: Head, shape: tuple[int, ...]) -> None:
    net = compose(MODEL_OF_HEAD[head], shape, 5).double()
    net.get_submodule("0").fit(torch.rand(50, *shape))  # type: ignore[operator]
    X = np.random.default_rng(0).random((20, int(np.prod(shape))))
    with torch.no_grad():
        expected = net(torch.from_numpy(X.reshape(-1, *shape))).numpy()
    assert np.abs(head_of(net, shape).plain(X) - expected).max() < 1e-9


@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("layer", [0, -1])
def test_weights_too_large_to_evaluate_are_scaled_down_and_vote_the_same(head: Head, layer: int) -> None:
    net = compose(MODEL_OF_HEAD[head], (8, 8), 5).double()
    net.get_submodule("0").fit(torch.rand(50, 8, 8))  # type: ignore[operator]
    with torch.no_grad():
        large = [module for module in net.modules() if isinstance(module, nn.Linear | nn.Conv2d)][layer]
        for values in large.parameters():
            values.mul_(1e5)
        X = np.random.default_rng(0).random((20, 64))
        expected = net(torch.from_numpy(X.reshape(-1, 8, 8))).numpy()
    found = head_of(net, (8, 8))
    sizes = [max(np.abs(part.weights.data).max(), np.abs(part.bias).max()) for part in found.layers]
    assert max(sizes) <= 2.0**WEIGHT_BITS
    logits = found.plain(X)
    factor = np.abs(logits).max() / np.abs(expected).max()
    assert 0 < factor < 1
    assert np.abs(logits - factor * expected).max() < 1e-9 * np.abs(logits).max()


def test_bounding_logits_changes_no_vote_and_nothing_else() -> None:
    net, X = compose("mlp", (6,), 4), np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    for multi_label in (False, True):
        before = net(torch.from_numpy(X)).detach().numpy()
        limit_logits(net, X, multi_label=multi_label)
        after = net(torch.from_numpy(X)).detach().numpy()
        assert np.abs(after).max() == pytest.approx(LOGIT_RANGE, rel=1e-5)
        assert np.array_equal(before.argmax(axis=1), after.argmax(axis=1))
        if multi_label:
            assert np.array_equal(before >= 0, after >= 0)


@pytest.mark.parametrize("value", [0.0, float("nan")])
def test_logits_that_say_nothing_stay_as_they_are(value: float) -> None:
    net = nn.Linear(3, 2)
    with torch.no_grad():
        net.weight.fill_(value)
        net.bias.fill_(value)
    limit_logits(net, np.ones((4, 3), np.float32), multi_label=True)
    assert torch.equal(torch.nan_to_num(net.weight, -1.0), torch.full((2, 3), -1.0 if value else 0.0))


@pytest.mark.parametrize("head", HEADS)
def test_a_teacher_of_one_class_gets_a_head_that_always_says_it(head: Head) -> None:
    y = np.where(np.arange(40) < 38, 1, np.arange(40) % 3)
    data = from_arrays(np.random.default_rng(0).normal(size=(40, 4, 5)), y)
    ensemble = trained(head, data, teachers=10, epochs=2)
    assert set(ensemble.manifest.constants.values()) == {1}
    X = infer_task(data, "images").prepare(data.X)
    votes = np.stack([found.plain(terms_of(head, X)).argmax(axis=1) for found in heads_of(ensemble)])
    assert np.array_equal(votes, ensemble.predict(X))


@pytest.mark.parametrize("head", ["linear", "square", "square-mlp"])
def test_labels_are_scored_without_a_shift(head: Head) -> None:
    data = symptoms(150)
    ensemble, task = trained(head, data), infer_task(data, "images")
    X = task.prepare(symptoms(100, seed=3).X)
    logits = np.stack([found.plain(terms_of(head, X)) for found in heads_of(ensemble)])
    assert np.array_equal(logits >= 0, ensemble.predict(X) >= 0.5)


@pytest.mark.parametrize("multi_label", [False, True])
def test_weights_that_are_no_numbers_get_the_head_of_the_fixed_vote(multi_label: bool) -> None:
    ensemble = trained("square-mlp", symptoms(150) if multi_label else blobs(120, shape=(6,)), epochs=2)
    assert isinstance(ensemble.models, Networks)
    with torch.no_grad():
        next(ensemble.models.nets[1].parameters()).fill_(float("nan"))
    X = np.random.default_rng(0).random((30, 6)).astype(np.float32)
    logits = heads_of(ensemble)[1].plain(X)
    votes = ensemble.predict(X)[1]
    found = (logits >= 0) == (votes >= 0.5) if multi_label else logits.argmax(axis=1) == votes
    assert found.all()


def test_a_network_of_other_modules_has_no_head() -> None:
    with pytest.raises(ValueError, match="ReLU"):
        head_of(compose("mlp", (4,), 3), (4,))


@pytest.mark.parametrize(
    "model",
    ["logistic", "square-mlp", "mlp", "cnn", "random_forest", "tests.services.teachers.factories:dropout"],
)
def test_other_models_have_no_head(model: str) -> None:
    data = blobs(40, shape=(8, 8))
    ensemble = train(data, infer_task(data, "t"), TrainingConfig(teachers=2, model=model, epochs=2), seed=0)
    assert ensemble.manifest.head == ""


def test_teachers_behind_an_encoder_vote_on_records(tmp_path: Path) -> None:
    trained("linear", encoder=ENCODER).save(tmp_path / "teachers")
    ensemble = Ensemble.load(tmp_path / "teachers")
    assert (ensemble.manifest.encoder, ensemble.manifest.shape) == (ENCODER, (16,))
    features = asked().reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
    logits = np.stack([found.plain(features) for found in heads_of(ensemble)])
    assert np.array_equal(logits.argmax(axis=-1), ensemble.predict(asked()))


@pytest.mark.parametrize(
    ("fails_on_zeros", "code"), [(True, ErrorCode.SERVER_DEVICE_GONE), (False, ErrorCode.MODEL_INVALID)]
)
def test_an_encoder_that_fails_on_zeros_too_is_on_a_device_that_is_gone(
    fails_on_zeros: bool, code: ErrorCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(network: nn.Module, X: torch.Tensor) -> torch.Tensor:
        if fails_on_zeros or X.any():
            raise RuntimeError("secret record 17")
        return torch.zeros(len(X), 16)

    ensemble = trained("linear", encoder=ENCODER)
    monkeypatch.setattr(nn.Sequential, "forward", fail)
    with pytest.raises(OstrakaError) as refused:
        ensemble.predict(np.ones((3, 64), np.float32))
    assert refused.value.code is code
    assert "RuntimeError" in refused.value.message
    assert "secret" not in refused.value.message


def test_an_encoder_that_changed_since_is_refused(tmp_path: Path) -> None:
    trained("linear", encoder=ENCODER).save(tmp_path / "teachers")
    path = tmp_path / "teachers" / "manifest.json"
    digest = Ensemble.load(tmp_path / "teachers").manifest.encoder_sha256
    path.write_text(path.read_text().replace(digest, "00" * 32))
    with pytest.raises(OstrakaError, match="other weights") as refused:
        Ensemble.load(tmp_path / "teachers")
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_a_cnn_behind_an_encoder_is_refused_because_features_are_no_images() -> None:
    with pytest.raises(OstrakaError) as refused:
        trained("square-cnn", encoder=ENCODER)
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_squares_of_more_features_than_all_products_are_sent_of_are_refused() -> None:
    with pytest.raises(OstrakaError, match="at most 64 features and records have 81") as refused:
        trained("square", blobs(40, shape=(9, 9)))
    assert refused.value.code is ErrorCode.MODEL_INVALID


def test_large_weights_of_products_are_limited_and_change_no_vote() -> None:
    """One record stretches a column's range, so that its deviation is small for teachers without it."""
    data = blobs(120, shape=(6,))
    data.X[0, 0] = 1e5
    ensemble, X = trained("square", data, epochs=2), infer_task(data, "images").prepare(data.X)
    heads = heads_of(ensemble)
    assert max(np.abs(head.layers[0].weights.data).max() for head in heads) == pytest.approx(MAX_WEIGHT)
    for teacher, head in enumerate(heads):
        assert np.array_equal(head.plain(products(X)).argmax(axis=1), ensemble.predict(X)[teacher])
