from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ostraka.common.learning import record_gradients
from ostraka.common.learning.record_gradients import STEPS, gradients, sum_of_clipped
from ostraka.services.teachers.joint_training import first
from ostraka.services.teachers.losses import Loss

CLASSES = 3
NETS = pytest.mark.parametrize(
    ("model", "shape"),
    [
        ("logistic", (5,)),
        ("mlp", (5,)),
        ("square-mlp", (5,)),
        ("cnn", (8, 8)),
        ("cnn", (16, 16, 3)),
        ("square-cnn", (1, 16, 16)),
        ("resnet", (8, 8)),
    ],
)


def records(shape: tuple[int, ...], count: int = 7, *, labels: bool = False) -> tuple[Tensor, Tensor]:
    random = np.random.default_rng(0)
    y = random.integers(2, size=(count, CLASSES)) if labels else random.integers(CLASSES, size=count)
    return torch.from_numpy(random.standard_normal((count, *shape)).astype(np.float32)), torch.from_numpy(y)


def one_by_one(net: nn.Module, X: Tensor, y: Tensor) -> Tensor:
    """Each record's gradient by autograd of that record alone."""
    rows = []
    for row in range(len(y)):
        loss = Loss()(net(X[row : row + 1])[None], y[row : row + 1][None])
        rows.append(torch.cat([part.flatten() for part in torch.autograd.grad(loss, list(net.parameters()))]))
    return torch.stack(rows)


@NETS
@pytest.mark.parametrize("labels", [False, True])
def test_each_record_has_its_own_gradient(model: str, shape: tuple[int, ...], labels: bool) -> None:
    net = first(model, shape, CLASSES, seed=1)
    X, y = records(shape, labels=labels)
    torch.testing.assert_close(gradients(net, X, y, Loss()), one_by_one(net, X, y), rtol=1e-4, atol=1e-6)


@pytest.mark.heavy
@NETS
@pytest.mark.parametrize("radius", [0.01, 0.3, 1e6])
def test_the_sum_is_of_gradients_clipped_one_by_one(
    model: str, shape: tuple[int, ...], radius: float
) -> None:
    net = first(model, shape, CLASSES, seed=1)
    X, y = records(shape, count=150)
    each = one_by_one(net, X, y).double()
    wanted = (each * (radius / each.norm(dim=1, keepdim=True)).clamp(max=1)).sum(dim=0) / radius
    found = sum_of_clipped(net, X, y, radius, Loss()).double() / STEPS
    assert float((found - wanted).abs().max()) < 150 * (1 / STEPS + 3e-6)


@NETS
def test_a_record_adds_no_more_than_a_radius(model: str, shape: tuple[int, ...]) -> None:
    net = first(model, shape, CLASSES, seed=1)
    X, y = records(shape, count=20)
    norms = [
        int((sum_of_clipped(net, X[row : row + 1], y[row : row + 1], 1e-3, Loss()) ** 2).sum())
        for row in range(20)
    ]
    assert max(norms) <= STEPS**2
    assert max(norms) > 0.99 * STEPS**2


def test_a_gradient_within_the_radius_is_not_scaled() -> None:
    net = first("logistic", (5,), CLASSES, seed=1)
    X, y = records((5,), count=1)
    steps = sum_of_clipped(net, X, y, 100.0, Loss()).double()
    wanted = one_by_one(net, X, y)[0].double() / 100 * STEPS
    assert float((steps - wanted).abs().max()) < 1.01


@pytest.mark.parametrize("value", [torch.nan, torch.inf, 1e38])
def test_a_record_whose_gradient_is_no_number_adds_nothing(value: float) -> None:
    net = first("mlp", (5,), CLASSES, seed=1)
    X, y = records((5,))
    broken = X.clone()
    broken[3] = value
    others = [0, 1, 2, 4, 5, 6]
    assert torch.equal(
        sum_of_clipped(net, broken, y, 0.5, Loss()), sum_of_clipped(net, X[others], y[others], 0.5, Loss())
    )


@pytest.mark.parametrize("radius", [1e-33, 1e-35, 1e-300])
def test_no_radius_is_too_small_to_clip_to(radius: float) -> None:
    net = first("logistic", (5,), CLASSES, seed=1)
    with torch.no_grad():
        net.get_submodule("1.1").get_parameter("bias").copy_(torch.tensor([300.0, 0.0, 0.0]))
    X, _ = records((5,), count=2)
    for label in range(CLASSES):
        steps = sum_of_clipped(net, X[:1], torch.tensor([label]), radius, Loss())
        assert sum(int(one) ** 2 for one in steps) <= STEPS**2
    certain = torch.tensor([0])
    assert not sum_of_clipped(net, X[:1], certain, radius, Loss()).any()


def test_layers_that_change_values_in_place_leave_gradients_right() -> None:
    net = nn.Sequential(nn.Flatten(), nn.Linear(5, 6), nn.ReLU(inplace=True), nn.Linear(6, CLASSES))
    X, y = records((5,))
    torch.testing.assert_close(gradients(net, X, y, Loss()), one_by_one(net, X, y), rtol=1e-4, atol=1e-6)


def test_no_record_is_left_out_for_a_memory_that_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    net = first("logistic", (5,), CLASSES, seed=1)
    X, y = records((5,))
    left = [torch.OutOfMemoryError("full")] * (1 + len(X))

    def short(*given: Any) -> Tensor:
        if left:
            raise left.pop()
        return gradients(*given)

    monkeypatch.setattr(record_gradients, "gradients", short)
    with pytest.raises(torch.OutOfMemoryError):
        sum_of_clipped(net, X, y, 1.0, Loss())
