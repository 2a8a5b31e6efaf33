"""The built-in residual network."""

import numpy as np
import pytest
import torch

from ostraka.common.datasets import Dataset, from_arrays
from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.device import HOST
from ostraka.common.task import infer_task
from ostraka.services.teachers import TrainingConfig, accuracy, train
from ostraka.services.teachers.fitting import compose
from ostraka.services.teachers.guard import VoteGuard
from ostraka.services.teachers.layouts.layouts import Layout
from ostraka.services.teachers.nets import Networks
from tests.services.teachers.conftest import blobs


def stripes(channel_axis: int | None) -> Dataset:
    """Images with lines across, lines along or none, wherever they lie."""
    random = np.random.default_rng(0)
    y = np.arange(48) % 3
    across, along = np.indices((8, 9))
    bars = [(line // 2 + random.integers(0, 2)) % 2 for line in (across, along)]
    plain = np.stack([*bars, np.full_like(across, 0.5, dtype=float)])[y]
    images = (
        plain if channel_axis is None else np.repeat(np.expand_dims(plain, channel_axis), 3, channel_axis)
    )
    return from_arrays(images + random.normal(0, 0.2, images.shape), y)


@pytest.mark.heavy
@pytest.mark.parametrize("channel_axis", [None, 1, 3])
def test_it_learns_images_whichever_axis_their_channels_are_on(channel_axis: int | None) -> None:
    data = stripes(channel_axis)
    task = infer_task(data, "images")
    config = TrainingConfig(teachers=2, model="resnet", shift=0)
    votes = train(data, task, config, seed=0).predict(task.prepare(data.X))
    assert accuracy(votes, data.labels(), 3) > 0.9


def test_records_that_are_no_images_are_refused() -> None:
    data = blobs(20)
    with pytest.raises(OstrakaError, match="resnet takes images") as refused:
        train(data, infer_task(data, "t"), TrainingConfig(teachers=2, model="resnet"), seed=0)
    assert refused.value.code is ErrorCode.MODEL_INVALID


@pytest.mark.parametrize("layout", ["stacked", "workers"])
def test_every_layout_votes_as_each_network_alone(layout: Layout) -> None:
    nets = [compose("resnet", (8, 8), 5) for _ in range(3)]
    X = np.random.default_rng(0).normal(size=(200, 64)).astype(np.float32)
    guard = VoteGuard(5)
    alone = Networks(nets, (8, 8), HOST, "loop").predict(X, guard)
    assert (Networks(nets, (8, 8), HOST, layout).predict(X, guard) == alone).mean() > 0.99


def test_a_records_logits_do_not_depend_on_the_others_it_is_asked_with() -> None:
    net = compose("resnet", (8, 8), 5)
    X = torch.randn(6, 8, 8)
    with torch.no_grad():
        alone = torch.cat([net(record[None]) for record in X])
        torch.testing.assert_close(net.train()(X), alone, atol=1e-5, rtol=1e-4)
