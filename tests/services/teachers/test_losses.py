import numpy as np
import pytest
import torch
from sklearn.utils.class_weight import compute_class_weight
from torch.nn import functional

from ostraka.services.teachers.assignment import Slice
from ostraka.services.teachers.losses import Loss

CPU = torch.device("cpu")
Y = [np.array([0, 0, 0, 1]), np.array([2, 1, 1, 0])]


def part(y: np.ndarray) -> Slice:
    return Slice(np.zeros((len(y), 1), np.float32), y, (0,))


def logits(*shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(1).normal(size=shape).astype(np.float32))


def test_a_balanced_loss_weighs_classes_as_scikit_learn_does_by_each_slice() -> None:
    scores = logits(2, 4, 3)
    expected = 0.0
    for row, y in enumerate(Y):
        weights = np.ones(3, np.float32)
        weights[np.unique(y)] = compute_class_weight("balanced", classes=np.unique(y), y=y)
        each = functional.cross_entropy(scores[row], torch.from_numpy(y), reduction="none")
        expected += float((each * torch.from_numpy(weights)[y]).sum())
    loss = Loss.balancing([part(y) for y in Y], 3)
    assert float(loss(scores, torch.from_numpy(np.stack(Y)))) == pytest.approx(expected, rel=1e-5)


def test_a_part_of_the_networks_keeps_its_own_weights() -> None:
    scores, y = logits(2, 4, 3), torch.from_numpy(np.stack(Y))
    loss = Loss.balancing([part(labels) for labels in Y], 3)
    whole = float(loss(scores, y))
    parts = [float(loss.of([row])(scores[[row]], y[[row]])) for row in range(2)]
    assert sum(parts) == pytest.approx(whole, rel=1e-6)
    assert float(loss.of([1])(scores[[0]], y[[0]])) != pytest.approx(parts[0], rel=1e-3)


def test_a_balanced_loss_gives_the_ones_of_a_label_the_weight_of_its_zeros() -> None:
    y = np.array([[1, 1, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0]])
    even = torch.zeros(1, 4, 3)
    each = Loss.balancing([part(y)], 3)
    rare, always, never = (
        [float(each(even[:, [row]], torch.from_numpy(y)[None, [row]])) for row in range(4)],
        y[:, 1],
        y[:, 2],
    )
    assert rare[0] - rare[1] == pytest.approx(2 * np.log(2), rel=1e-5)
    assert (always.min(), never.max()) == (1, 0)
    assert rare[1] == pytest.approx(3 * np.log(2), rel=1e-5)


def test_without_weights_it_is_the_summed_cross_entropy() -> None:
    scores, y = logits(2, 4, 3), torch.from_numpy(np.stack(Y))
    expected = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="sum")
    assert float(Loss()(scores, y)) == pytest.approx(float(expected), rel=1e-6)


@pytest.mark.parametrize("balanced", [False, True])
def test_labels_that_nobody_knows_have_no_loss(balanced: bool) -> None:
    y = np.array([[1, -1], [0, 1], [-1, 0], [1, 1]])
    loss = Loss.balancing([part(y)], 2) if balanced else Loss()
    scores = logits(1, 4, 2).requires_grad_()
    (slope,) = torch.autograd.grad(loss(scores, torch.from_numpy(y)[None]), scores)
    assert ((slope == 0).numpy() == (y[None] == -1)).all()
    weight = np.array([0.5, 0.5]) if balanced else np.ones(2)
    each = (
        functional.binary_cross_entropy_with_logits(
            scores[0], torch.from_numpy(np.maximum(y, 0)).float(), reduction="none"
        )
        .detach()
        .numpy()
    )
    expected = (each * np.where(y == 1, weight, 1) * (y >= 0)).sum()
    assert float(loss(scores.detach(), torch.from_numpy(y)[None])) == pytest.approx(expected, rel=1e-5)
