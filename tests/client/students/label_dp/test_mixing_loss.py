from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ostraka.client.students.label_dp.mixing_loss import Descent, refine
from ostraka.common.learning.objective import TrainingStep

CLASSES = 3


class Still:
    """Views that are the records themselves."""

    def weak(self, x: Tensor, random: torch.Generator) -> Tensor:
        return x

    def strong(self, x: Tensor, random: torch.Generator) -> Tensor:
        return x


def loss(net: nn.Module, targets: list[list[float]], unlabeled: int, **fields: Any) -> Tensor:
    given: dict[str, Any] = {"other": net, "weight": 0.0, "prior": (1 / 3, 1 / 3, 1 / 3)} | fields
    step = TrainingStep(0, 1, torch.Generator().manual_seed(0))
    x = torch.eye(CLASSES)[: len(targets)]
    return Descent(Still(), **given).loss(
        net, (x, torch.tensor(targets, dtype=torch.float32)), torch.eye(CLASSES)[:unlabeled], step
    )


RIGHT: list[list[float]] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
WRONG: list[list[float]] = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def certain(strength: float = 20.0) -> nn.Linear:
    """Return a network that gives every unit row its own class."""
    net = nn.Linear(CLASSES, CLASSES, bias=False)
    with torch.no_grad():
        net.weight.copy_(strength * torch.eye(CLASSES))
    return net


def test_the_doubt_in_a_label_is_filled_by_the_guess() -> None:
    targets = torch.tensor([[1.0, 0, 0], [0.6, 0.2, 0.2]])
    guesses = torch.tensor([[0.0, 0, 1], [0.0, 0, 1]])
    mixed = refine(targets, guesses)
    assert mixed[0].tolist() == pytest.approx([1, 0, 0])
    assert mixed[1].tolist() == pytest.approx([0.36 / 0.52, 0, 0.16 / 0.52])


def test_right_labels_cost_less_than_wrong_ones() -> None:
    right, wrong = (float(loss(certain(), targets, 0).detach()) for targets in (RIGHT, WRONG))
    assert right < wrong


def test_a_guess_that_both_networks_share_costs_less_than_one_they_dispute() -> None:
    net = certain()
    turned = nn.Linear(CLASSES, CLASSES, bias=False)
    with torch.no_grad():
        turned.weight.copy_(net.weight.roll(1, dims=0))
    agreed, disputed = (
        float(loss(net, RIGHT, 3, other=other, weight=100.0).detach()) for other in (net, turned)
    )
    assert agreed < disputed


def test_only_the_network_that_learns_gets_gradients() -> None:
    net, other = certain(1.0), certain(2.0)
    loss(net, [[1.0, 0, 0], [0, 0.7, 0.3]], 2, other=other, weight=1.0).backward()  # type: ignore[no-untyped-call]
    assert net.weight.grad is not None
    assert bool((net.weight.grad != 0).any())
    assert other.weight.grad is None


def test_a_class_that_nothing_is_expected_of_does_no_harm() -> None:
    assert bool(torch.isfinite(loss(certain(200.0), [[1.0, 0, 0]], 1, prior=(0.5, 0.5, 0.0))))
