from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional
from torch.nn.utils import parameters_to_vector

from ostraka.common.errors import ErrorCode, OstrakaError
from ostraka.common.learning.network_sums import restore_network, sum_network_gradients
from ostraka.common.learning.networks import network
from ostraka.common.learning.record_gradients import STEPS
from ostraka.common.learning.sum_answers import answer_steps
from ostraka.common.sums.questions import NetworkQuestion, Rows, Target

SHAPE = (8, 8)
COUNT = 9
X = np.random.default_rng(0).normal(size=(COUNT, 64)).astype(np.float32)


def question(kind: str, target: Target, radius: float) -> NetworkQuestion:
    net = network(SHAPE, target.outputs, kind, seed=3)
    flat = parameters_to_vector(net.parameters()).detach().numpy()
    return NetworkQuestion(kind, SHAPE, target, flat, radius)


def rows(y: Any) -> Rows:
    return Rows(np.zeros((COUNT, 0), np.float32), X, np.asarray(y))


TARGETS = [
    (Target("softmax", 3), np.arange(COUNT) % 3),
    (Target("logistic", 2), np.arange(2 * COUNT).reshape(COUNT, 2) % 2),
    (Target("logistic", 1), np.arange(COUNT) % 2),
    (Target("squared", 1, 4.0, 2.0), np.arange(COUNT) / 2),
]


@pytest.mark.parametrize("kind", ["linear", "small-mlp", "small-cnn"])
@pytest.mark.parametrize(("target", "y"), TARGETS)
@pytest.mark.parametrize("radius", [0.05, 100.0])
def test_the_sum_is_of_each_records_own_clipped_gradient(
    kind: str, target: Target, y: Any, radius: float
) -> None:
    asked = question(kind, target, radius)
    net = restore_network(asked)
    wanted = np.zeros(len(asked.parameters))
    for row in range(COUNT):
        scores = net(torch.from_numpy(X[row : row + 1]))
        if target.loss == "softmax":
            loss = functional.cross_entropy(scores, torch.tensor([y[row]]))
        elif target.loss == "logistic":
            wished = torch.from_numpy(np.atleast_1d(y[row]).astype(np.float32))[None]
            loss = functional.binary_cross_entropy_with_logits(scores, wished, reduction="sum")
        else:
            loss = (scores - (y[row] - target.center) / target.scale).square().sum() / 2
        slopes = torch.autograd.grad(loss, list(net.parameters()))
        own = torch.cat([slope.flatten() for slope in slopes]).double().numpy() / radius
        wanted += own / max(1.0, float(np.linalg.norm(own)))
    (found,) = answer_steps(asked, rows(y))
    assert np.abs(found / STEPS - wanted).max() < COUNT * (1 / STEPS + 3e-6)


def test_a_record_adds_norm_one_at_most_whatever_it_is() -> None:
    asked = question("small-mlp", Target("softmax", 3), 1e-6)
    for value in (0.0, 1e30, np.inf, np.nan):
        one = Rows(np.zeros((1, 0), np.float32), np.full((1, 64), value, np.float32), np.array([2]))
        assert np.linalg.norm(sum_network_gradients(asked, one).astype(np.float64)) <= STEPS


def test_a_network_of_another_size_is_refused() -> None:
    asked = NetworkQuestion("small-mlp", SHAPE, Target("softmax", 3), np.zeros(5, np.float32), 1.0)
    with pytest.raises(OstrakaError) as refused:
        answer_steps(asked, rows(np.arange(COUNT) % 3))
    assert refused.value.code is ErrorCode.PLAN_INVALID
